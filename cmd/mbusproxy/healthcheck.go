package main

import (
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"mbusproxy/internal/app"
)

const defaultHealthTimeout = 8 * time.Second // longer than /readyz takes to find out that a server does not answer

// healthcheckCommand asks a proxy on this machine. Settings are found where serve finds them, so that one environment or file does for both.
func healthcheckCommand(std streams) *cobra.Command {
	f := newFlagSet("healthcheck", "healthcheck [--http ADDR | --listen ADDR] [--config FILE]",
		"Asks the proxy that runs on this machine with these settings whether it serves clients: by /readyz if it has --http,\nelse by opening a connection. The exit code is 0 if so, else 1.")
	var cfg app.HealthConfig
	f.Var((*list)(&cfg.Listen), "listen", "`ADDR` as serve has it")
	f.StringVar(&cfg.HTTP, "http", "", "`ADDR` as serve has it")
	f.DurationVar(&cfg.Timeout, "timeout", defaultHealthTimeout, "`TIME` that the answer may take")
	f.withConfig()
	f.ofServe = true
	return f.command("asks a proxy on this machine whether it serves clients", func() error {
		switch {
		case cfg.HTTP == "" && len(cfg.Listen) == 0:
			return f.missing("listen")
		case cfg.Timeout <= 0:
			return f.misuse("--timeout must be more than nothing")
		}
		if err := app.CheckHealth(cfg); err != nil {
			return err
		}
		fmt.Fprintln(std.out, "ok")
		return nil
	})
}
