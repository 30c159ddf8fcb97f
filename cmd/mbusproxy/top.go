package main

import (
	"os"
	"time"

	"github.com/spf13/cobra"

	"mbusproxy/internal/cli"
)

const leastInterval = 100 * time.Millisecond // between two looks

func topCommand(std streams) *cobra.Command {
	c := newClient(std, "top", "[--interval TIME] [--output FORM]", "Shows what is in the queues and how fast it changes, the sessions, and the calls that wait, until q or Ctrl-C. "+
		"If standard output is not a terminal, or with --output json, it prints that once.")
	interval := c.Duration("interval", 2*time.Second, "`TIME` how often to look")
	console := c.String("console-database", defaultConsole, "`NAME` the proxy's console, which knows the calls that wait; they are shown if your role may use it")
	return c.command("shows the queues live", func() error {
		out, err := c.out()
		if err != nil {
			return err
		}
		if *interval < leastInterval {
			return c.misuse("--interval must be at least 100ms")
		}
		ctx, release := untilSignal(func() {})
		defer release()
		if screen, ok := c.std.out.(*os.File); ok && out.Terminal && out.Format == cli.Table {
			return unlessTold(ctx, cli.Top(ctx, c.dsn, *console, *interval, os.Stdin, screen))
		}
		s, err := cli.Connect(ctx, c.dsn, nil)
		if err == nil {
			defer s.Close()
			err = s.TopOnce(ctx, *console, out)
		}
		return interruptedBy(ctx, err)
	})
}
