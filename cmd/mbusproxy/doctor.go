package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"

	"mbusproxy/internal/app"
	"mbusproxy/internal/doctor"
)

// oldestPostgres is the oldest major that mbusproxy works with.
const oldestPostgres = 15

func runDoctor(args []string, std streams) error {
	f := newFlagSet("doctor", "doctor --upstream DSN --admin DSN [--output json]",
		"Looks at the server and says what keeps mbusproxy from working well with it, and what to do. It changes\nnothing. Status 1 means that something does not work. It reads environment and --config as serve does.")
	var cfg app.Config
	f.withServe(&cfg)
	output := f.String("output", "text", "`FORM` of what is printed: text or json")
	f.withConfig()
	if err := f.parse(args, std); err != nil {
		return err
	}
	switch {
	case cfg.Upstream == "":
		return f.missing("upstream")
	case cfg.Admin == "":
		return f.missing("admin")
	case *output != "text" && *output != "json":
		return f.misuse("--output is text or json, not " + *output)
	}
	ctx, release := untilSignal(func() {})
	defer release()
	return examine(ctx, doctor.Server{Upstream: cfg.Upstream, Admin: cfg.Admin, OldestMajor: oldestPostgres}, *output == "json", std.out)
}

func examine(ctx context.Context, s doctor.Server, asJSON bool, out io.Writer) error {
	all := []doctor.Finding{}
	failed := doctor.Examine(ctx, s, func(f doctor.Finding) {
		all = append(all, f)
		if !asJSON {
			fmt.Fprintf(out, "%-8s %-15s %s\n", f.State, f.Check, f.Found)
			if f.Mend != "" {
				fmt.Fprintf(out, "%24s -> %s\n", "", f.Mend)
			}
		}
	})
	if asJSON {
		e := json.NewEncoder(out)
		e.SetIndent("", "  ")
		if err := e.Encode(all); err != nil {
			return fmt.Errorf("writing: %w", err)
		}
	}
	if failed {
		return &app.Error{Message: "something does not work, see above"}
	}
	return nil
}
