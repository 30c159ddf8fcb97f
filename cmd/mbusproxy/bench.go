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
queue, and how many rows died a second.

It makes a queue and a schema whose names begin with mbusproxy_bench_, and removes both when it ends, also after Ctrl-C or an error. Its messages
lie in the table of all messages, so others who use the database feel it, and what they do is among the dead rows. The role must be a member
of mbus4_admin and may create schemas.`)
	var cfg bench.Config
	c.DurationVar(&cfg.Duration, "duration", 30*time.Second, "`TIME` of each phase")
	c.Float64Var(&cfg.Rate, "rate", 800, "`NUMBER` of messages a second")
	c.IntVar(&cfg.Consumers, "consumers", 32, "`NUMBER` of sessions that consume")
	c.IntVar(&cfg.Posters, "posters", 8, "`NUMBER` of sessions that post")
	c.DurationVar(&cfg.Work, "work", time.Millisecond, "`TIME` that a consumer works for each message, in the transaction that consumes it")
	c.IntVar(&cfg.Size, "size", 256, "`BYTES` of data in each message")
	svg := c.String("svg", "", "write line charts of the run to this `FILE`")
	return c.command("measures queues on your server", func() error {
		out, err := c.out()
		switch {
		case err != nil:
			return err
		case cfg.Duration < 100*time.Millisecond:
			return c.misuse("--duration is 100ms at least")
		case cfg.Rate <= 0 || cfg.Rate > 1e6:
			return c.misuse("--rate is more than nothing and at most a million")
		case cfg.Consumers < 1 || cfg.Consumers > 1000 || cfg.Posters < 1 || cfg.Posters > 1000:
			return c.misuse("--consumers and --posters are between 1 and 1000")
		case cfg.Work < 0:
			return c.misuse("--work cannot be negative")
		case cfg.Size < 0 || cfg.Size > 1<<20:
			return c.misuse("--size is between 0 and a MiB")
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
