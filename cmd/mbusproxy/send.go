package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"mbusproxy/internal/cli"
)

func postCommand(std streams) *cobra.Command {
	c := newClient(std, "post", "QUEUE [JSON | -] [FLAGS]", "Posts a message and prints its iid. Its content is JSON, as the argument or, if that is -, on standard input; or hstore, "+
		"as --data. With --lines each line of standard input is a message; either all of them are posted, or none.")
	c.takes = 2
	var m cli.Message
	c.StringVar(&m.Data, "data", "", "`HSTORE` the data of the message, such as 'a=>1, b=>2'")
	c.StringArrayVar(&m.Headers, "header", nil, "`KEY=VALUE` add a header; may be repeated")
	c.StringArrayVar(&m.Properties, "property", nil, "`KEY=VALUE` add a property, by which selectors may choose; may be repeated")
	c.StringVar(&m.Delay, "delay", "", "`INTERVAL` deliver the message only after this time, such as 10min")
	c.StringVar(&m.DelayedUntil, "delayed-until", "", "`TIME` deliver the message only at this point in time or later")
	c.StringVar(&m.ExpiresIn, "expires-in", "", "`INTERVAL` let the message expire after this time, such as 1h")
	c.StringVar(&m.Expires, "expires", "", "`TIME` let the message expire at this point in time")
	c.StringVar(&m.IID, "iid", "", "`IID` give the message this iid; the post fails while another message with it is there")
	c.StringVar(&m.UniqueKey, "unique-key", "", "`KEY` post nothing if a message with this key was posted less than --unique-for ago")
	c.StringVar(&m.UniqueFor, "unique-for", "", "`INTERVAL` how long --unique-key keeps further messages out")
	lines := c.Bool("lines", false, "post each line of standard input as a message, in JSON")
	return c.offersQueues(c.client("posts a message, or one for each line", func(ctx context.Context, s *cli.Session, out cli.Out) (err error) {
		if m.Queue, err = c.argument("a queue"); err != nil {
			return err
		}
		for _, name := range []string{"iid", "unique-key", "unique-for"} {
			if f := c.Lookup(name); f.Changed && f.Value.String() == "" {
				return c.misuse("--" + name + " must not be empty; leave the flag out instead")
			}
		}
		payload := len(c.arguments) > 1
		switch {
		case *lines && (payload || m.Data != "" || m.IID != "" || m.UniqueKey != ""):
			return c.misuse("--lines takes the messages from standard input, without a payload, --data, --iid and --unique-key")
		case *lines:
			return s.PostLines(ctx, m, os.Stdin, c.progress("posted", -1), out)
		case payload == (m.Data != ""):
			return c.misuse("post needs either JSON or --data")
		case m.Delay != "" && m.DelayedUntil != "":
			return c.misuse("--delay and --delayed-until cannot be used together")
		case m.Expires != "" && m.ExpiresIn != "":
			return c.misuse("--expires and --expires-in cannot be used together")
		case payload && c.arguments[1] == "-":
			text, err := io.ReadAll(os.Stdin)
			if err != nil {
				return fmt.Errorf("reading standard input: %w", err)
			}
			m.Payload = string(text)
		case payload:
			m.Payload = c.arguments[1]
		}
		if payload && strings.TrimSpace(m.Payload) == "" {
			return c.misuse("the payload is empty, which is not valid JSON")
		}
		return s.Post(ctx, m, out)
	}))
}

func consumeCommand(std streams) *cobra.Command {
	c := newClient(std, "consume", "QUEUE [--wait INTERVAL] [--count N] [--consumer NAME] [--output FORM]", "Takes messages out of a queue and prints them. "+
		"It commits only after everything was written (and, to a file, is on the disk). If writing fails, or the program is killed before, the "+
		"messages are still there; if the commit fails, they have been printed and come again. Exit status 0: the messages are gone from the queue. "+
		"Exit status 3: no message.")
	c.takes = 1
	var take cli.Consumption
	c.StringVar(&take.Consumer, "consumer", "default", "`NAME` consume as this consumer")
	c.IntVar(&take.Amount, "count", 1, "`NUMBER` take at most this many messages")
	c.StringVar(&take.Wait, "wait", "", "`INTERVAL` wait this long for the first message, such as 30s")
	return c.offersQueues(c.client("takes messages and prints them", func(ctx context.Context, s *cli.Session, out cli.Out) (err error) {
		if take.Queue, err = c.argument("a queue"); err != nil {
			return err
		}
		if take.Amount < 1 {
			return c.misuse("--count must be at least 1")
		}
		return orMissing(s.Consume(ctx, take, out), "", "")
	}))
}
