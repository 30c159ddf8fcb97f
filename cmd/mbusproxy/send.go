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
	c := newClient(std, "post", "QUEUE [JSON | -] [FLAGS]", "Posts a message and prints its iid. What it carries is JSON, given as the argument, or on standard input where that is -,\nor hstore, by --data. With --lines each line of standard input is a message; all of them are posted, or none.")
	c.takes = 2
	var m cli.Message
	c.StringVar(&m.Data, "data", "", "`HSTORE` that the message carries, such as 'a=>1, b=>2'")
	c.StringArrayVar(&m.Headers, "header", nil, "`KEY=VALUE` for the headers; may be repeated")
	c.StringArrayVar(&m.Properties, "property", nil, "`KEY=VALUE` for the properties, by which selectors select; may be repeated")
	c.StringVar(&m.Delay, "delay", "", "`INTERVAL` after which it can be consumed, such as 10min")
	c.StringVar(&m.DelayedUntil, "delayed-until", "", "`TIME` from which it can be consumed")
	c.StringVar(&m.ExpiresIn, "expires-in", "", "`INTERVAL` after which nobody gets it any more")
	c.StringVar(&m.Expires, "expires", "", "`TIME` from which nobody gets it any more")
	c.StringVar(&m.IID, "iid", "", "`IID` of the message, by which it is posted once only while it is there")
	c.StringVar(&m.UniqueKey, "unique-key", "", "`KEY` under which one message is posted within --unique-for")
	c.StringVar(&m.UniqueFor, "unique-for", "", "`INTERVAL` for which the key counts")
	lines := c.Bool("lines", false, "each line of standard input is a message, in JSON")
	return c.offersQueues(c.client("posts a message, or one for each line", func(ctx context.Context, s *cli.Session, out cli.Out) (err error) {
		if m.Queue, err = c.argument("a queue"); err != nil {
			return err
		}
		for _, name := range []string{"iid", "unique-key", "unique-for"} {
			if f := c.Lookup(name); f.Changed && f.Value.String() == "" {
				return c.misuse("--" + name + " is empty: leave it out where there is none")
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
		case m.Delay != "" && m.DelayedUntil != "", m.Expires != "" && m.ExpiresIn != "":
			return c.misuse("a time and an interval do not go together")
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
			return c.misuse("the payload is empty, which is no JSON")
		}
		return s.Post(ctx, m, out)
	}))
}

func consumeCommand(std streams) *cobra.Command {
	c := newClient(std, "consume", "QUEUE [--wait INTERVAL] [--count N] [--consumer NAME] [--output FORM]", "Takes messages out of a queue and prints them. They are gone when the program ends with 0: it commits after everything was\nwritten (and, to a file, is on the disk). Where writing fails, or the program is killed before, they are still there;\nwhere the commit fails they have been printed and come again. Ends with 3 where there is no message.")
	c.takes = 1
	var take cli.Consumption
	c.StringVar(&take.Consumer, "consumer", "default", "`NAME` of the consumer to take them for")
	c.IntVar(&take.Amount, "count", 1, "`NUMBER` of messages at most")
	c.StringVar(&take.Wait, "wait", "", "`INTERVAL` to wait for the first one, such as 30s")
	return c.offersQueues(c.client("takes messages and prints them", func(ctx context.Context, s *cli.Session, out cli.Out) (err error) {
		if take.Queue, err = c.argument("a queue"); err != nil {
			return err
		}
		if take.Amount < 1 {
			return c.misuse("--count is 1 at least")
		}
		return orMissing(s.Consume(ctx, take, out), "", "")
	}))
}
