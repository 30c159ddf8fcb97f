package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"github.com/spf13/cobra"

	"mbusproxy/internal/app"
	"mbusproxy/internal/pgcluster"
	"mbusproxy/internal/told"
)

const (
	usualListen   = "127.0.0.1:6432"
	usualPostgres = 6433 // port of the private server, unless it is taken
	// rootData is the data folder when root runs dev: Postgres then runs as another user, who
	// cannot reach root's home.
	rootData = "/var/lib/mbusproxy"

	devDrain    = 5 * time.Second
	stopTimeout = 30 * time.Second
)

func devCommand(std streams) *cobra.Command {
	cfg := app.Config{LogTo: std.err, DrainTimeout: devDrain, StartupTimeout: defaultStartupTimeout}
	f := newFlagSet("dev", "dev [--data DIR] [--listen ADDR]",
		"Starts a private Postgres, from the Postgres installed on this machine, and the proxy in front of it. Ctrl-C ends both; the data stays.")
	data := f.String("data", defaultData(), "`DIR` data directory of the private Postgres, created if missing")
	f.Var((*list)(&cfg.Listen), "listen", "`ADDR` listen here: host:port, or the directory of a Unix socket; may be repeated (default "+usualListen+", or a free port if that is taken)")
	f.DurationVar(&cfg.SemaphoreInterval, "semaphore-interval", defaultSemaphores, semaphoreUsage)
	f.Var((*list)(&cfg.Unqualified), "unqualified", unqualifiedUsage)
	f.StringVar(&cfg.HTTP, "http", "", httpUsage)
	f.StringVar(&cfg.LogLevel, "log-level", "warn", "`LEVEL` what to log on standard error: debug, info, warn or error")
	f.oneOf("log-level", "debug", "info", "warn", "error")
	return f.command("starts a private Postgres and the proxy, and says how to connect", func() error {
		return dev(f, cfg, *data, std)
	})
}

func dev(f *flagSet, cfg app.Config, data string, std streams) error {
	switch {
	case data == "":
		return f.missing("data")
	case cfg.SemaphoreInterval <= 0:
		return f.misuse("--semaphore-interval must be positive")
	case !app.IsLogLevel(cfg.LogLevel):
		return f.misuse("--log-level is debug, info, warn or error, not " + cfg.LogLevel)
	}
	if err := f.checkUnqualified(&cfg); err != nil {
		return err
	}

	var running atomic.Pointer[pgcluster.Cluster]
	ctx, release := untilSignal(func() {
		if c := running.Load(); c != nil {
			c.Kill()
		}
	})
	defer release()

	cluster, err := startCluster(ctx, data)
	if err != nil {
		return unlessTold(ctx, err)
	}
	running.Store(cluster)
	err = serveCluster(ctx, cfg, cluster, std)
	stopCtx, cancel := context.WithTimeout(context.Background(), stopTimeout)
	defer cancel()
	return errors.Join(unlessTold(ctx, err), cluster.Stop(stopCtx))
}

func startCluster(ctx context.Context, data string) (*pgcluster.Cluster, error) {
	cfg := pgcluster.Config{Dir: data, Port: usualPostgres}
	c, err := pgcluster.Start(ctx, cfg)
	if pgcluster.IsKind(err, pgcluster.PortTaken) {
		cfg.Port = 0
		c, err = pgcluster.Start(ctx, cfg)
	}
	return c, err
}

// serveCluster runs the proxy until ctx ends, or until Postgres ends by itself.
func serveCluster(ctx context.Context, cfg app.Config, cluster *pgcluster.Cluster, std streams) error {
	cfg.Upstream = cluster.DSN("postgres")
	cfg.Admin = cfg.Upstream
	cfg.PageTrust = true // the private server trusts this machine
	moved := false
	if len(cfg.Listen) == 0 {
		cfg.Listen = []string{usualListen}
		if moved = taken(usualListen); moved {
			cfg.Listen = []string{"127.0.0.1:0"}
		}
	}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	go func() {
		select {
		case <-cluster.Done():
			cancel(errPostgresEnded)
		case <-ctx.Done():
		}
	}()
	err := app.Run(ctx, cfg, func(addrs []net.Addr) {
		greet(std, cluster, addrs, moved)
	})
	if errors.Is(context.Cause(ctx), errPostgresEnded) {
		return &told.Error{
			Message: "the private Postgres ended by itself",
			Hint:    "its log is " + filepath.Join(cluster.Dir(), "server.log"),
		}
	}
	return err
}

var errPostgresEnded = errors.New("postgres ended")

// greet says how to connect.
func greet(std streams, cluster *pgcluster.Cluster, addrs []net.Addr, moved bool) {
	w := std.out
	fmt.Fprintf(w, "mbusproxy %s with Postgres %s, data in %s\n", versionString(), cluster.Installation().Version, cluster.Dir())
	if moved {
		fmt.Fprintf(w, "%s is taken, so a free port was chosen.\n", usualListen)
	}
	for _, addr := range addrs {
		host, port := clientAddress(addr)
		fmt.Fprintf(w, "\nConnect with\n  psql 'host=%s port=%s user=postgres dbname=postgres'\n", host, port)
		if addr.Network() == "tcp" {
			fmt.Fprintf(w, "  postgresql://postgres@%s/postgres\n", net.JoinHostPort(host, port))
		}
	}
	fmt.Fprint(w, `
and try
  select mbus4.create_queue('q1', 1);
  select mbus4.post('q1', hstore('greeting', 'hello'));
  select * from mbus4.consume('q1');

Ctrl-C ends both; the data stays.
`)
}

// clientAddress is what a client on this machine says to reach addr.
func clientAddress(addr net.Addr) (host, port string) {
	switch a := addr.(type) {
	case *net.TCPAddr:
		if a.IP.IsUnspecified() {
			return "127.0.0.1", strconv.Itoa(a.Port)
		}
		return a.IP.String(), strconv.Itoa(a.Port)
	case *net.UnixAddr:
		// The file is .s.PGSQL.<port>; clients name its folder and the port.
		return filepath.Dir(a.Name), strings.TrimPrefix(filepath.Ext(a.Name), ".")
	}
	return addr.String(), ""
}

// taken tells whether somebody listens on addr.
func taken(addr string) bool {
	l, err := net.Listen("tcp", addr)
	if err != nil {
		return true
	}
	return l.Close() != nil
}

// defaultData is the data folder when none is given: $XDG_DATA_HOME/mbusproxy, or
// ~/.local/share/mbusproxy; "" when the home folder is not known.
func defaultData() string {
	if os.Geteuid() == 0 {
		return rootData
	}
	if dir := os.Getenv("XDG_DATA_HOME"); filepath.IsAbs(dir) {
		return filepath.Join(dir, "mbusproxy")
	}
	home, err := os.UserHomeDir()
	if err != nil {
		return ""
	}
	return filepath.Join(home, ".local", "share", "mbusproxy")
}
