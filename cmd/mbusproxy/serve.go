package main

import (
	"fmt"
	"net"
	"os"
	"strings"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"mbusproxy/internal/app"
	"mbusproxy/internal/systemd"
	"mbusproxy/internal/told"
)

const (
	defaultStartupTimeout = 60 * time.Second
	defaultDrainTimeout   = 30 * time.Second
	defaultSemaphores     = time.Minute // between two full passes
	defaultWaitSweep      = time.Second
	defaultConsole        = "mbusproxy"
)

const httpUsage = "`ADDR` serve HTTP on this host:port: /metrics for Prometheus, /healthz and /readyz, and the web page at /page/"

const semaphoreUsage = "`TIME` how often to pass over all semaphores, to find what was written to their tables directly"

func serveCommand(std streams) *cobra.Command {
	// cobra reads the command line into a Config that nobody uses: serve reads it again itself, as
	// often as it is told to.
	return serveFlags(&app.Config{}).command("starts the proxy in front of a Postgres server of yours", func() error { return serve(std) })
}

func serve(std streams) error {
	boundHeap()
	manager := systemd.FromEnvironment()
	sockets, err := systemd.Listeners()
	if err != nil {
		return &told.Error{
			Message: fmt.Sprintf("the sockets passed by systemd cannot be used: %v", err),
			Hint:    "docs/install.md has a socket unit that works", Err: err,
		}
	}
	read := func() (app.Config, error) {
		cfg := app.Config{LogTo: std.err, Version: versionString(), Sockets: sockets}
		err := parseServe(std.args[1:], &cfg)
		return cfg, err
	}
	cfg, err := read()
	if err != nil {
		return err
	}
	ctx, release := untilSignal(func() {})
	defer release()
	cfg.Reload, cfg.Shutdown = reloadSelf, shutDownSelf
	tell := func(err error) {
		if err != nil {
			fmt.Fprintln(std.err, "mbusproxy:", err) // and goes on: clients are worth more than the manager
		}
	}
	cfg.Reloads = onHangup(ctx, func() app.Reload {
		tell(manager.Reloading())
		again, err := read()
		return app.Reload{Config: again, Err: err, Done: func() { tell(manager.Ready(serving)) }}
	})
	cfg.Stopping = func(limit time.Duration) { tell(manager.Stopping(limit)) }
	return unlessTold(ctx, app.Run(ctx, cfg, func([]net.Addr) { tell(manager.Ready(serving)) }))
}

// serving is the status that a service manager shows.
const serving = "serving clients"

// withServe gives a flag set the settings of serve.
func (f *flagSet) withServe(cfg *app.Config) {
	f.Var((*list)(&cfg.Listen), "listen", "`ADDR` listen here: host:port, or the directory of a Unix socket; may be repeated")
	f.StringVar(&cfg.Upstream, "upstream", "", "`DSN` the Postgres server that sessions go to: host, port, sslmode and so on; several hosts are tried in turn")
	f.StringVar(&cfg.Admin, "admin", "", "`DSN` connect with this database and role to create the schema mbus4 and to do housekeeping")
	f.BoolVar(&cfg.NoInit, "no-init", false, "do not create or upgrade the schema mbus4")
	f.BoolVar(&cfg.NoPrepare, "no-prepare", false, "do not prepare statements in clients' sessions for calls that they send again and again")
	f.BoolVar(&cfg.DisableBadSelectors, "disable-bad-selectors", false, disableBadSelectors)
	f.StringVar(&cfg.TLSCert, "tls-cert", "", "`FILE` the certificate shown to clients, in PEM format")
	f.StringVar(&cfg.TLSKey, "tls-key", "", "`FILE` the private key of the certificate, in PEM format")
	f.BoolVar(&cfg.TLSRequired, "tls-required", false, "refuse clients that connect without TLS")
	f.IntVar(&cfg.MaxConnections, "max-connections", 0, "`NUMBER` how many clients may be logged in at once; 0 means no limit")
	f.DurationVar(&cfg.StartupTimeout, "startup-timeout", defaultStartupTimeout, "`TIME` how long a client may take for TLS and authentication")
	f.DurationVar(&cfg.DrainTimeout, "drain-timeout", defaultDrainTimeout, "`TIME` how long busy sessions may go on when the proxy shuts down")
	f.DurationVar(&cfg.WaitSweep, "wait-sweep", defaultWaitSweep, "`TIME` how often to look, for all calls that wait, for messages that were not posted through a proxy")
	f.DurationVar(&cfg.SemaphoreInterval, "semaphore-interval", defaultSemaphores, semaphoreUsage)
	f.Var((*list)(&cfg.Unqualified), "unqualified", unqualifiedUsage)
	f.StringVar(&cfg.HTTP, "http", "", httpUsage)
	f.BoolVar(&cfg.HTTPPlain, "http-plain", false, "serve the web page without TLS even if the address of --http is not a loopback address")
	f.StringVar(&cfg.Trace, "trace", "", "`URL` send a span for each call to this OpenTelemetry collector, or, with the value otlp, to the one that OTEL_EXPORTER_OTLP_ENDPOINT names; without this flag nothing is traced")
	f.StringVar(&cfg.ConsoleRole, "console-role", "", "`ROLE` let members of this role use the admin console; without this flag there is no console")
	f.StringVar(&cfg.ConsoleName, "console-database", defaultConsole, "`NAME` clients reach the admin console as a database of this name")
	f.StringVar(&cfg.LogLevel, "log-level", "info", "`LEVEL` what to log on standard error: debug, info, warn or error")
	f.oneOf("log-level", "debug", "info", "warn", "error")
	f.withOperations(cfg)
}

// serveFlags are the flags of serve, which fill cfg in.
func serveFlags(cfg *app.Config) *flagSet {
	f := newFlagSet("serve", "serve --listen ADDR --upstream DSN --admin DSN [FLAGS]",
		"Starts the proxy in front of a Postgres server. SIGTERM or SIGINT shuts it down once busy sessions have finished; a second signal "+
			"ends it at once. On SIGHUP it reads the certificate, limits and log level again.")
	f.withServe(cfg)
	f.withConfig()
	f.required("upstream", "admin")
	f.Lookup("listen").Usage += " (required, unless systemd passes sockets)"
	return f
}

// parseServe fills cfg in from flags, environment and configuration file.
func parseServe(args []string, cfg *app.Config) error {
	f := serveFlags(cfg)
	if err := f.parse(args); err != nil {
		return err
	}
	switch {
	case len(cfg.Listen) == 0 && len(cfg.Sockets) == 0:
		return f.missing("listen")
	case cfg.Upstream == "":
		return f.missing("upstream")
	case cfg.Admin == "":
		return f.missing("admin")
	case (cfg.TLSCert == "") != (cfg.TLSKey == ""):
		return f.misuse("--tls-cert and --tls-key must be given together")
	case cfg.TLSRequired && cfg.TLSCert == "":
		return f.misuse("--tls-required needs --tls-cert and --tls-key")
	case cfg.MaxConnections < 0:
		return f.misuse("--max-connections cannot be negative")
	case cfg.StartupTimeout <= 0:
		return f.misuse("--startup-timeout must be positive")
	case cfg.DrainTimeout < 0:
		return f.misuse("--drain-timeout cannot be negative")
	case cfg.SemaphoreInterval <= 0:
		return f.misuse("--semaphore-interval must be positive")
	case cfg.ConsoleName == "" || strings.Contains(cfg.ConsoleName, "/"):
		return f.misuse("--console-database must be a name without slashes")
	case cfg.WaitSweep <= 0:
		return f.misuse("--wait-sweep must be positive")
	case !app.IsLogLevel(cfg.LogLevel):
		return f.misuse("--log-level is debug, info, warn or error, not " + cfg.LogLevel)
	}
	if err := f.checkUnqualified(cfg); err != nil {
		return err
	}
	return f.checkOperations(cfg)
}

// The console does what an operator does with kill.

func reloadSelf() error { return syscall.Kill(os.Getpid(), syscall.SIGHUP) }

func shutDownSelf(wait bool) error {
	if err := syscall.Kill(os.Getpid(), syscall.SIGTERM); err != nil || wait {
		return err
	}
	go func() {
		time.Sleep(time.Second) // the signals must not become one
		_ = syscall.Kill(os.Getpid(), syscall.SIGTERM)
	}()
	return nil
}
