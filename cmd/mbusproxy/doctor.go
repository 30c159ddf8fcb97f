package main

import (
	"github.com/spf13/cobra"

	"mbusproxy/internal/app"
)

func doctorCommand(std streams) *cobra.Command {
	f := newFlagSet("doctor", "doctor --upstream DSN --admin DSN [--output json]",
		"Looks at the server and says what keeps mbusproxy from working well with it, and what to do. It changes\nnothing. Status 1 means that something does not work. It reads environment and --config as serve does.")
	var cfg app.Config
	f.withServe(&cfg)
	f.String("output", "text", "`FORM` of what is printed: text or json")
	f.oneOf("output", "text", "json")
	f.withConfig()
	return f.command("looks at a server and says what is in the way", func() error {
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
