package app

import (
	"context"
	"encoding/json"
	"fmt"
	"io"

	"mbusproxy/internal/doctor"
	"mbusproxy/internal/told"
)

// oldestPostgres is the oldest major that mbusproxy works with.
const oldestPostgres = 15

// Doctor looks at the server of a configuration and writes what it finds, as lines or in JSON. Where something does not work it returns a *told.Error.
func Doctor(ctx context.Context, cfg Config, asJSON bool, out io.Writer) error {
	all := []doctor.Finding{}
	failed := doctor.Examine(ctx, doctor.Server{Upstream: cfg.Upstream, Admin: cfg.Admin, OldestMajor: oldestPostgres}, func(f doctor.Finding) {
		all = append(all, f)
		if asJSON {
			return
		}
		fmt.Fprintf(out, "%-8s %-15s %s\n", f.State, f.Check, f.Found)
		if f.Mend != "" {
			fmt.Fprintf(out, "%24s -> %s\n", "", f.Mend)
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
		return &told.Error{Message: "something does not work, see above"}
	}
	return nil
}
