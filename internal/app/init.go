package app

import (
	"context"
	"fmt"
	"io"

	"github.com/schollz/progressbar/v3"

	"mbusproxy/engine"
	"mbusproxy/engine/schema"
	"mbusproxy/internal/told"
)

// InitConfig says what Init does, and where it shows it.
type InitConfig struct {
	DSN string // of the database, and of a role that may create the schema in it
	// DisableBadSelectors: see engine.Options.
	DisableBadSelectors bool
	DryRun              bool // nothing is done, the SQL is shown
	Prune               bool // the functions that other versions of the program made are dropped
	Out                 io.Writer
	// Terminal is where a bar shows how far an index is; nil: nowhere, a line says that it is being built.
	Terminal io.Writer
}

// Init creates or upgrades the schema mbus4 in a database. It writes a line for each step when the
// step begins, when it waits and when it is done, and for each thing that could not be done and is
// not vital.
func Init(ctx context.Context, cfg InitConfig) error {
	if cfg.DryRun {
		sql, err := engine.InitSQL(ctx, cfg.DSN)
		if err != nil {
			return told.Of(err)
		}
		if sql == "" {
			sql = "-- Nothing is missing."
		}
		_, err = fmt.Fprintln(cfg.Out, sql)
		return err
	}
	shown := stepsShown{out: cfg.Out, terminal: cfg.Terminal}
	r, err := engine.Init(ctx, cfg.DSN, schema.Options{DisableBadSelectors: cfg.DisableBadSelectors, Notify: shown.show})
	if err != nil {
		return told.Of(err)
	}
	if cfg.Prune {
		dropped, err := engine.Prune(ctx, cfg.DSN)
		if err != nil {
			return told.Of(err)
		}
		shown.line("functions of other versions dropped: %d", dropped)
		r.Kept = 0
	}
	switch {
	case r.Before == 0:
		shown.line("database %s: schema mbus4 created, version %d", r.Database, r.After)
	case r.Before != r.After:
		shown.line("database %s: schema mbus4 upgraded from version %d to %d", r.Database, r.Before, r.After)
	default:
		shown.line("database %s: schema mbus4 is up to date, version %d", r.Database, r.After)
	}
	if r.Kept > 0 {
		shown.line("%d functions of other versions of mbusproxy are kept; once none of these serves the database, drop them with --prune", r.Kept)
	}
	for _, w := range r.Warnings {
		shown.line("warning: %s", w)
	}
	return shown.failed
}

// stepsShown writes what an upgrade tells. Its methods are called by one goroutine at a time.
type stepsShown struct {
	out, terminal io.Writer
	last          string // line
	bar           *progressbar.ProgressBar
	failed        error // of out
}

func (s *stepsShown) line(format string, args ...any) {
	text := fmt.Sprintf(format, args...)
	if text == s.last {
		return
	}
	s.last = text
	if _, err := fmt.Fprintln(s.out, text); err != nil && s.failed == nil {
		s.failed = err
	}
}

func (s *stepsShown) show(e schema.Event) {
	step := fmt.Sprintf("step %d of %d, %s", e.Number, e.Of, e.Step)
	if e.State != schema.Building && s.bar != nil {
		_ = s.bar.Finish() // for show only
		s.bar = nil
	}
	switch e.State {
	case schema.Begun:
		s.line("%s", step)
	case schema.Waiting:
		s.line("%s: waits for %s", step, e.Waiting)
	case schema.Done:
		s.line("%s: done", step)
	case schema.Building:
		if s.terminal == nil {
			s.line("%s: building the index", step)
			return
		}
		if s.bar == nil {
			s.bar = progressbar.NewOptions(100, progressbar.OptionSetWriter(s.terminal), progressbar.OptionSetDescription(step), progressbar.OptionClearOnFinish())
		}
		_ = s.bar.Set(int(max(e.Progress, 0) * 100))
	}
}
