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

// Doctor looks at the server of a configuration and writes what it finds, as lines or in JSON. If a
// check fails it returns an *told.Error.
func Doctor(ctx context.Context, cfg Config, asJSON bool, out io.Writer) error {
	all := []doctor.Finding{}
	failures := 0
	doctor.Examine(ctx, doctor.Server{Upstream: cfg.Upstream, Admin: cfg.Admin, OldestMajor: oldestPostgres}, func(f doctor.Finding) {
		all = append(all, f)
		if f.State == doctor.Failure {
			failures++
		}
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
	switch failures {
	case 0:
		return nil
	case 1:
		return &told.Error{Message: "1 check failed, see above"}
	}
	return &told.Error{Message: fmt.Sprintf("%d checks failed, see above", failures)}
}
