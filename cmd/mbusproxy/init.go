package main

import (
	"io"
	"os"

	"github.com/spf13/cobra"

	"mbusproxy/internal/app"
)

// disableBadSelectors explains the flag, which init and serve have.
const disableBadSelectors = "when the schema is upgraded, keep consumers and triggers whose selectors are no longer allowed, but give them no more messages; without this flag the upgrade stops and lists them"

func initCommand(std streams) *cobra.Command {
	f := newFlagSet("init", "init --admin DSN",
		"Creates the schema mbus4 in the database that --admin names, or upgrades it to what this program needs. `mbusproxy serve` does the "+
			"same by itself, unless it has the flag --no-init.")
	cfg := app.InitConfig{Out: std.out, Terminal: terminal(std.err)}
	f.StringVar(&cfg.DSN, "admin", "", "`DSN` connect to this database, as a role that may create schemas in it")
	f.BoolVar(&cfg.DisableBadSelectors, "disable-bad-selectors", false, disableBadSelectors)
	f.BoolVar(&cfg.DryRun, "dry-run", false, "print the SQL that would be run, and run nothing")
	f.BoolVar(&cfg.Prune, "prune", false, "also drop the functions that other versions of mbusproxy made; none of these versions may still be serving the database")
	f.required("admin")
	return f.command("creates or upgrades the schema mbus4 in a database", func() error {
		if cfg.DSN == "" {
			return f.missing("admin")
		}
		ctx, release := untilSignal(func() {})
		defer release()
		return app.Init(ctx, cfg)
	})
}

// terminal is w if that is a terminal, else nil.
func terminal(w io.Writer) io.Writer {
	if file, ok := w.(*os.File); ok {
		if info, err := file.Stat(); err == nil && info.Mode()&os.ModeCharDevice != 0 {
			return w
		}
	}
	return nil
}
