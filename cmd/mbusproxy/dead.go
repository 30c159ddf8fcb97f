package main

import (
	"context"
	"fmt"
	"strconv"
	"time"

	"github.com/spf13/cobra"

	"mbusproxy/internal/cli"
)

// deadCommand is what has commands for the dead message queue below it.
func deadCommand(std streams) *cobra.Command {
	c := &cobra.Command{
		Use:   "dead COMMAND [FLAGS]",
		Short: "lists, puts back or removes dead messages",
		Long:  "Lists the messages in the dead message queue, puts them back to where they came from, or removes them.",
		Args:  cobra.ArbitraryArgs,
		RunE: func(*cobra.Command, []string) error {
			return &usageError{message: "dead needs one of list, redrive, purge and undo", hint: "`mbusproxy dead -h` says what they do"}
		},
		DisableAutoGenTag:     true,
		DisableFlagsInUseLine: true,
	}
	c.AddCommand(deadListCommand(std), deadRedriveCommand(std), deadPurgeCommand(std), deadUndoCommand(std))
	return c
}

// meant gives a command the flags that say which dead messages are meant.
func (c *client) meant() *cli.Dead {
	c.takes = 1
	var d cli.Dead
	c.StringVar(&d.Consumer, "consumer", "", "`NAME` only messages of this consumer")
	c.StringVar(&d.Selector, "selector", "", "`SELECTOR` only messages that this selector selects, such as t.headers->'dmq.error' = 'no such printer'")
	c.StringVar(&d.Since, "since", "", "`TIME` only messages that died at this time or later")
	c.StringVar(&d.Until, "until", "", "`TIME` only messages that died at this time or before; without this flag, before the command started")
	return &d
}

func deadListCommand(std streams) *cobra.Command {
	c := newClient(std, "dead list", "[QUEUE] [--limit N] [FLAGS]", "Prints dead messages, the oldest first: all, or those that came from a queue.")
	d := c.meant()
	limit := c.Int("limit", 20, "`NUMBER` print at most this many messages")
	return c.offersQueues(c.client("prints dead messages", func(ctx context.Context, s *cli.Session, out cli.Out) error {
		if *limit < 0 {
			return c.misuse("--limit cannot be negative")
		}
		d.Queue = c.queue()
		return s.DeadList(ctx, *d, *limit, out)
	}))
}

func deadRedriveCommand(std streams) *cobra.Command {
	c := newClient(std, "dead redrive", "[QUEUE] [--to QUEUE] [--dry-run | --yes] [FLAGS]", "Puts dead messages back to where they came from, or into another queue, in batches. "+
		"It says how many there are, shows the first few, and asks. Ctrl-C stops it between two batches. `mbusproxy dead undo` takes back "+
		"what nobody has consumed since. Exit status 3: no message.")
	to := c.String("to", "", "`QUEUE` put the messages into this queue, instead of where they came from")
	return c.changing("redrive", "puts dead messages back to where they came from", to)
}

func deadPurgeCommand(std streams) *cobra.Command {
	c := newClient(std, "dead purge", "[QUEUE] [--dry-run | --yes] [FLAGS]", "Removes dead messages for good, in batches. It says how many there are, shows the first few, "+
		"and asks. Ctrl-C stops it between two batches. Exit status 3: no message.")
	return c.changing("purge", "removes dead messages for good", new(string))
}

// changing makes a command that does something with dead messages, after showing which.
func (c *client) changing(kind, summary string, to *string) *cobra.Command {
	d := c.meant()
	yes := c.BoolP("yes", "y", false, "do not ask")
	dry := c.Bool("dry-run", false, "only say how many there are, and print the first few")
	return c.offersQueues(c.client(summary, func(ctx context.Context, s *cli.Session, out cli.Out) error {
		d.Queue = c.queue()
		slow := time.AfterFunc(time.Second, func() { fmt.Fprintln(c.std.err, "counting") })
		p, err := s.Preview(ctx, *d)
		slow.Stop()
		if err != nil {
			return err
		}
		fmt.Fprintf(c.std.err, "%s: %s\n", kind, p.Amount())
		if *dry {
			return p.WriteSamples(out)
		}
		if p.Count.Messages == 0 && p.Count.Exact {
			return orMissing(cli.ErrNothing, "", "")
		}
		if !*yes {
			people := cli.Out{W: c.std.err, Format: cli.Table, Width: out.Width}
			if err := p.WriteSamples(people); err != nil {
				return err
			}
			if err := c.agreed(kind + " " + p.Amount() + "?"); err != nil {
				return err
			}
		}
		total := -1
		if p.Count.Exact {
			total = int(p.Count.Messages)
		}
		return s.DeadRun(ctx, kind, *to, p, c.progress(kind, total), out)
	}))
}

func deadUndoCommand(std streams) *cobra.Command {
	c := newClient(std, "dead undo", "OPERATION", "Takes back to the dead message queue what `mbusproxy dead redrive` has put elsewhere and nobody has consumed since. "+
		"OPERATION is the number that `mbusproxy dead redrive` has printed.")
	c.takes = 1
	return c.client("takes back what a redrive has put elsewhere", func(ctx context.Context, s *cli.Session, out cli.Out) error {
		given, err := c.argument("the number of an operation")
		if err != nil {
			return err
		}
		id, err := strconv.ParseInt(given, 10, 64)
		if err != nil {
			return c.misuse(fmt.Sprintf("%q is not the number of an operation", given))
		}
		return s.DeadUndo(ctx, id, c.progress("undo", -1), out)
	})
}

// queue is the argument, which may be left out.
func (c *client) queue() string {
	if len(c.arguments) == 0 {
		return ""
	}
	return c.arguments[0]
}
