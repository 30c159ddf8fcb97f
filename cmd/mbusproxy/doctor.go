package main

import (
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"mbusproxy/internal/app"
)

func doctorCommand(std streams) *cobra.Command {
	f := newFlagSet("doctor", "doctor --upstream DSN --admin DSN [--output json]",
		"Checks whether mbusproxy can work with a server, and says what to do where it cannot, or not well. It changes nothing. Exit status 1: "+
			"a check failed.\n\nIt accepts the other flags and settings of `mbusproxy serve`, too, so that one environment or file does for both, and ignores them.")
	var cfg app.Config
	f.withServe(&cfg)
	f.VisitAll(func(fl *pflag.Flag) { fl.Hidden = fl.Name != "upstream" && fl.Name != "admin" })
	f.required("upstream", "admin")
	f.String("output", "text", "`FORM` how to print the findings: text or json")
	f.oneOf("output", "text", "json")
	f.withConfig()
	return f.command("checks whether mbusproxy can work with a server", func() error {
		switch {
		case cfg.Upstream == "":
			return f.missing("upstream")
		case cfg.Admin == "":
			return f.missing("admin")
		}
		output, err := f.outputOf()
		if err != nil {
			return err
		}
		ctx, release := untilSignal(func() {})
		defer release()
		return app.Doctor(ctx, cfg, output == "json", std.out)
	})
}
