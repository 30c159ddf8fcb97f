package main

import (
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"mbusproxy/internal/app"
)

const defaultHealthTimeout = 8 * time.Second // longer than /readyz may take, two looks of three seconds

// healthcheckCommand asks a proxy on this machine. Settings are found where serve finds them, so
// that one environment or file does for both.
func healthcheckCommand(std streams) *cobra.Command {
	f := newFlagSet("healthcheck", "healthcheck [--http ADDR | --listen ADDR] [--config FILE]",
		"Asks the proxy that runs on this machine with these settings whether it serves clients: by /readyz if it has --http, else by "+
			"opening a connection. Exit status 0: it does. Exit status 1: it does not.")
	var cfg app.HealthConfig
	f.Var((*list)(&cfg.Listen), "listen", "`ADDR` the --listen of the proxy; may be repeated")
	f.StringVar(&cfg.HTTP, "http", "", "`ADDR` the --http of the proxy")
	f.DurationVar(&cfg.Timeout, "timeout", defaultHealthTimeout, "`TIME` how long the answer may take")
	f.withConfig()
	f.ofServe = true
	return f.command("asks a proxy on this machine whether it serves clients", func() error {
		switch {
		case cfg.HTTP == "" && len(cfg.Listen) == 0:
			return f.missing("listen")
		case cfg.Timeout <= 0:
			return f.misuse("--timeout must be positive")
		}
		if err := app.CheckHealth(cfg); err != nil {
			return err
		}
		fmt.Fprintln(std.out, "ok")
		return nil
	})
}
