package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"golang.org/x/term"

	"mbusproxy/internal/cli"
)

// client is what the commands have in common that talk to a database through the proxy.
type client struct {
	*flagSet
	std streams
	dsn string
}

const clientAbout = "\n\nThe command connects to the proxy, not to the server: give it the address on which `mbusproxy serve` listens, by --dsn, or by " +
	"PGHOST, PGPORT, PGDATABASE and libpq's other variables, as for psql."

func newClient(std streams, command, arguments, about string) *client {
	c := &client{flagSet: newFlagSet(command, strings.TrimSpace(command+" "+arguments), about+clientAbout), std: std}
	c.StringVar(&c.dsn, "dsn", "", "`DSN` connect to this proxy and database: host=… port=… dbname=… or postgresql://…; without this flag libpq's variables say where")
	c.String("output", string(cli.Table), "`FORM` how to print the result: table, json or csv")
	c.oneOf("output", cli.Formats()...)
	return c
}

// client makes a command; run gets a session that is closed behind it.
func (c *client) client(summary string, run func(context.Context, *cli.Session, cli.Out) error) *cobra.Command {
	made := c.command(summary, func() error {
		out, err := c.out()
		if err != nil {
			return err
		}
		ctx, release := untilSignal(func() {})
		defer release()
		s, err := cli.Connect(ctx, c.dsn, c.notice)
		if err == nil {
			defer s.Close()
			err = run(ctx, s, out)
		}
		return interruptedBy(ctx, err)
	})
	return made
}

// interruptedBy is err, or errInterrupted where a signal was the cause.
func interruptedBy(ctx context.Context, err error) error {
	var said *cli.Error
	if err != nil && ctx.Err() != nil && (!errors.As(err, &said) || said.SQLState != "") { // 57014, for one
		return errInterrupted
	}
	return err
}

// out is where the results of --output go.
func (c *client) out() (cli.Out, error) {
	format, err := c.outputOf()
	if err != nil {
		return cli.Out{}, err
	}
	out := cli.Out{W: c.std.out, Format: cli.Format(format)}
	if file, ok := terminal(c.std.out).(*os.File); ok {
		out.Terminal = true
		if width, _, err := term.GetSize(int(file.Fd())); err == nil {
			out.Width = width
		}
	}
	return out, nil
}

func (c *client) notice(text string) { fmt.Fprintf(c.std.err, "notice: %s\n", cli.Visible(text)) }

// argument is the only one that the command takes; what says what it is.
func (c *client) argument(what string) (string, error) {
	if len(c.arguments) == 0 {
		return "", c.misuse("an argument is missing: " + what)
	}
	return c.arguments[0], nil
}

// progress is shown where errors are.
func (c *client) progress(what string, total int) *cli.Progress {
	return cli.NewProgress(c.std.err, terminal(c.std.err) != nil, what, total)
}

// offersQueues has a shell complete the names of queues.
func (c *client) offersQueues(made *cobra.Command) *cobra.Command {
	made.ValidArgsFunction = func(_ *cobra.Command, given []string, begun string) ([]string, cobra.ShellCompDirective) {
		if len(given) >= c.takes || c.settle() != nil {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		ctx, cancel := context.WithTimeout(context.Background(), 2*time.Second) // a shell waits
		defer cancel()
		s, err := cli.Connect(ctx, c.dsn, nil)
		if err != nil {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		defer s.Close()
		names, _ := s.QueueNames(ctx) // none is as good as an error
		var fit []string
		for _, name := range names {
			if strings.HasPrefix(name, begun) {
				fit = append(fit, name)
			}
		}
		return fit, cobra.ShellCompDirectiveNoFileComp
	}
	return made
}

// agreed asks a question on the terminal; where there is none, --yes is the only answer.
func (c *client) agreed(question string) error {
	if terminal(os.Stdin) == nil || terminal(c.std.err) == nil {
		return c.misuse("--yes is needed without a terminal, where nobody can be asked")
	}
	fmt.Fprintf(c.std.err, "%s [y/N] ", cli.Visible(question))
	answer := make([]byte, 64)
	n, err := os.Stdin.Read(answer)
	if err != nil && !errors.Is(err, io.EOF) {
		return fmt.Errorf("reading the answer: %w", err)
	}
	switch strings.ToLower(strings.TrimSpace(string(answer[:n]))) {
	case "y", "yes":
		return nil
	}
	return &nothingDone{"nothing was done"}
}
