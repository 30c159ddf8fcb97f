package main

import (
	"context"

	"github.com/spf13/cobra"

	"mbusproxy/internal/cli"
)

// deadCommand is what has commands for the dead message queue below it.
func deadCommand(std streams) *cobra.Command {
	c := &cobra.Command{
		Use:   "dead",
		Short: "lists, puts back or removes what is dead",
		Long:  "Lists what lies in the dead message queue, puts it back to where it came from, or removes it.",
		Args:  cobra.ArbitraryArgs,
		RunE: func(c *cobra.Command, args []string) error {
			return &usageError{message: "dead needs one of list, redrive and purge", hint: "`mbusproxy dead -h` says what they do"}
		},
		DisableAutoGenTag: true,
	}
	c.AddCommand(deadListCommand(std))
	return c
}

func deadListCommand(std streams) *cobra.Command {
	c := newClient(std, "dead list", "[QUEUE] [--limit N] [--output FORM]", "Prints dead messages, the oldest first: all, or those that came from a queue.")
	c.takes = 1
	limit := c.Int("limit", 20, "`NUMBER` of messages at most")
	return c.offersQueues(c.client("prints dead messages", func(ctx context.Context, s *cli.Session, out cli.Out) error {
		if *limit < 0 {
			return c.misuse("--limit cannot be negative")
		}
		queue := ""
		if len(c.arguments) > 0 {
			queue = c.arguments[0]
		}
		return s.DeadList(ctx, queue, *limit, out)
	}))
}
