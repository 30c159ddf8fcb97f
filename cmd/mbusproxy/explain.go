package main

import (
	"fmt"
	"io"
	"os"

	"github.com/spf13/cobra"

	"mbusproxy/internal/app"
	"mbusproxy/internal/explain"
)

func explainCommand(std streams) *cobra.Command {
	cfg := explain.Config{Out: std.out}
	f := newFlagSet("explain", "explain [--admin DSN] [--prepared] [--output json] [STATEMENT | -]",
		"Prints how a statement with calls of mbus4 is served, and the SQL that the server gets. Nothing is run, and nothing is changed. "+
			"Without an argument, or with -, the text comes from standard input. Exit status 1: a statement is refused.")
	f.takes = 1
	f.StringVar(&cfg.Admin, "admin", "", "`DSN` print the SQL for this database; without this flag, for one where hstore is in the schema public and no message waits for others")
	f.BoolVar(&cfg.Prepared, "prepared", false, "treat the text as that of a prepared statement (Parse) instead of a simple query (Query)")
	f.Var((*list)(&cfg.Unqualified), "unqualified", unqualifiedUsage)
	f.String("output", "text", "`FORM` how to print: text (SQL with comments) or json (an array with an object for each statement)")
	f.oneOf("output", "text", "json")
	return f.command("prints how a statement is served, and the SQL that the server gets", func() error {
		output, err := f.outputOf()
		if err != nil {
			return err
		}
		cfg.JSON = output == "json"
		return runExplain(f, cfg)
	})
}

func runExplain(f *flagSet, cfg explain.Config) error {
	if err := app.CheckUnqualified(cfg.Unqualified); err != nil {
		return f.misuse("--unqualified: " + err.Error())
	}
	if len(f.arguments) > 0 && f.arguments[0] != "-" {
		cfg.Text = f.arguments[0]
	} else {
		if len(f.arguments) == 0 && terminal(os.Stdin) != nil {
			return f.misuse("explain needs a statement, as its argument or on standard input")
		}
		text, err := io.ReadAll(os.Stdin)
		if err != nil {
			return fmt.Errorf("reading standard input: %w", err)
		}
		cfg.Text = string(text)
	}
	ctx, release := untilSignal(func() {})
	defer release()
	return explain.Run(ctx, cfg)
}
