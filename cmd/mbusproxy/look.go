package main

import (
	"context"
	"errors"

	"github.com/spf13/cobra"

	"mbusproxy/internal/cli"
)

func queuesCommand(std streams) *cobra.Command {
	c := newClient(std, "queues", "[QUEUE] [--output FORM]", "Prints how many messages are in each queue, or in each consumer of one queue: the views mbus4.queues and mbus4.consumers. "+
		"Numbers may be estimates where `exact` says no.")
	c.takes = 1
	return c.offersQueues(c.client("prints how many messages are in the queues", func(ctx context.Context, s *cli.Session, out cli.Out) error {
		return s.Queues(ctx, c.queue(), out)
	}))
}

func peekCommand(std streams) *cobra.Command {
	c := newClient(std, "peek", "QUEUE [--consumer NAME] [--state STATE] [--limit N] | --iid IID", "Prints the messages of a queue's consumer with their states, or one message, whole. They stay where they are. "+
		"Exit status 3: no message with that iid.")
	c.takes = 1
	consumer := c.String("consumer", "default", "`NAME` print the messages of this consumer")
	state := c.String("state", "", "`STATE` only messages in this state: ready, delayed, waiting, leased, held, expired or dead")
	limit := c.Int("limit", 20, "`NUMBER` print at most this many messages")
	iid := c.String("iid", "", "`IID` print the message with this iid")
	c.oneOf("state", "ready", "delayed", "waiting", "leased", "held", "expired", "dead")
	return c.offersQueues(c.client("prints messages and leaves them where they are", func(ctx context.Context, s *cli.Session, out cli.Out) error {
		switch {
		case *iid != "" && len(c.arguments) > 0:
			return c.misuse("--iid cannot be used together with a queue")
		case *iid != "":
			return orMissing(s.PeekOne(ctx, *iid, out), "there is no message with this iid", "it was consumed, has expired or was never committed: docs/where-is-my-message.md")
		case *limit < 0:
			return c.misuse("--limit cannot be negative")
		}
		queue, err := c.argument("a queue, or --iid")
		if err != nil {
			return err
		}
		return s.Peek(ctx, queue, *consumer, *state, *limit, out)
	}))
}

func whyCommand(std streams) *cobra.Command {
	c := newClient(std, "why", "IID | --circles [--output FORM]", "Says, for each consumer that is still to get a message, why it has not got it, and who holds it. "+
		"With --circles it lists the messages that wait for one another by consume_after, and so forever. "+
		"Exit status 3: no consumer is to get it any more.")
	c.takes = 1
	round := c.Bool("circles", false, "list the messages that wait for one another")
	return c.client("says why a message was not delivered", func(ctx context.Context, s *cli.Session, out cli.Out) error {
		switch {
		case *round && len(c.arguments) > 0:
			return c.misuse("--circles cannot be used together with an iid")
		case *round:
			return s.Circles(ctx, out)
		}
		iid, err := c.argument("the iid of a message, or --circles")
		if err != nil {
			return err
		}
		return orMissing(s.Why(ctx, iid, out), "no undelivered message has this iid", "it was consumed, has expired, was never committed, or no consumer wanted it: docs/where-is-my-message.md")
	})
}

// orMissing says what is not there where a command has printed nothing.
func orMissing(err error, message, hint string) error {
	if errors.Is(err, cli.ErrNothing) {
		return &missing{message: message, hint: hint}
	}
	return err
}
