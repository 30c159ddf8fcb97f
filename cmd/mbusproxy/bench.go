package main

import (
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/spf13/cobra"

	"mbusproxy/internal/bench"
)

func benchCommand(std streams) *cobra.Command {
	c := newClient(std, "bench", "[--duration TIME] [--svg FILE] [FLAGS]", `Measures queues on your server, through the proxy, in six phases: clean (a fixed rate), saturated (as fast as it goes), held xmin (a
transaction holds a snapshot), scanners (four sessions scan under REPEATABLE READ), overload (one and a half times the rate) and recovery.
Of each it prints the rate, the median and 99th percentile of the time from when a message was due until a consumer had it, the depth of the
queue, and how many rows became dead per second.

It creates a queue and a schema whose names begin with mbusproxy_bench_, and removes both when it ends, also after Ctrl-C or an error. Its
messages share a table with all others: it slows down whoever else uses the database, and the dead rows that it counts include theirs. The
role must be a member of mbus4_admin and be allowed to create schemas.`)
	var cfg bench.Config
	c.DurationVar(&cfg.Duration, "duration", 30*time.Second, "`TIME` how long each phase takes")
	c.Float64Var(&cfg.Rate, "rate", 800, "`NUMBER` post this many messages per second")
	c.IntVar(&cfg.Consumers, "consumers", 32, "`NUMBER` consume in this many sessions")
	c.IntVar(&cfg.Posters, "posters", 8, "`NUMBER` post in this many sessions")
	c.DurationVar(&cfg.Work, "work", time.Millisecond, "`TIME` how long a consumer works on each message, in the transaction that consumes it")
	c.IntVar(&cfg.Size, "size", 256, "`BYTES` put this much data into each message")
	svg := c.String("svg", "", "`FILE` write line charts of the run to this file, in SVG")
	return c.command("measures queues on your server", func() error {
		out, err := c.out()
		switch {
		case err != nil:
			return err
		case cfg.Duration < 100*time.Millisecond:
			return c.misuse("--duration must be at least 100ms")
		case cfg.Rate <= 0 || cfg.Rate > 1e6:
			return c.misuse("--rate must be positive and at most 1000000")
		case cfg.Consumers < 1 || cfg.Consumers > 1000 || cfg.Posters < 1 || cfg.Posters > 1000:
			return c.misuse("--consumers and --posters must be between 1 and 1000")
		case cfg.Work < 0:
			return c.misuse("--work cannot be negative")
		case cfg.Size < 0 || cfg.Size > 1<<20:
			return c.misuse("--size must be between 0 and 1048576")
		}
		var picture *os.File
		if *svg != "" { // before the run, which is long
			if picture, err = os.Create(*svg); err != nil {
				return fmt.Errorf("--svg: %w", err)
			}
			defer func() { _ = picture.Close() }()
		}
		cfg.DSN = c.dsn
		cfg.Progress = c.progress("bench, seconds", cfg.Seconds())
		ctx, release := untilSignal(func() {})
		defer release()
		report, err := bench.Run(ctx, cfg, c.notice)
		cfg.Progress.Done()
		if err != nil {
			return interruptedBy(ctx, err)
		}
		if picture != nil {
			if err := errors.Join(report.SVG(picture), picture.Close()); err != nil {
				return fmt.Errorf("writing %s: %w", *svg, err)
			}
		}
		return out.Write(report.Result())
	})
}
