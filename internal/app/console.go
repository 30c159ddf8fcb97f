package app

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/jackc/pgx/v5/pgconn"
	"go.uber.org/zap"

	"mbusproxy/engine"
	"mbusproxy/internal/console"
	"mbusproxy/internal/rewriter"
	"mbusproxy/internal/told"
	"mbusproxy/proxy"
)

// desk is what the console needs of the program.
type desk struct {
	cfg      Config
	engine   *engine.Engine
	rewriter *rewriter.Rewriter
	server   *proxy.Server // set before anybody can log in
	log      *zap.Logger
}

// console returns the console, or nil where there is none.
func (d *desk) console() proxy.Console {
	if d.cfg.ConsoleRole == "" {
		return nil
	}
	cfg := console.Config{
		Name: d.cfg.ConsoleName, Role: d.cfg.ConsoleRole, Admin: userOf(d.cfg.Admin), Database: databaseOf(d.cfg.Admin), Exists: d.engine.TrustedDatabaseExists, Version: d.cfg.Version,
		Proxy: func() proxy.Stats { return d.server.Stats() }, End: func(id uint64) bool { return d.server.EndSession(id) },
		Databases: d.engine.Databases, Calls: d.rewriter.Calls, Settings: d.settings, CallSQL: d.callSQL,
		Reload: d.cfg.Reload, Shutdown: d.cfg.Shutdown, Log: d.log,
	}
	if cfg.Reload == nil {
		cfg.Reload = func() error { return errors.New("this program cannot be told so") }
	}
	if cfg.Shutdown == nil {
		cfg.Shutdown = func(bool) error { return cfg.Reload() }
	}
	return console.New(cfg)
}

// callSQL is the statement of a call of a function with the arguments $1, $2 in a database, which must be one that is served.
func (d *desk) callSQL(ctx context.Context, database, function string) (string, error) {
	if _, err := d.engine.DatabaseFor(ctx, database, "", time.Time{}); err != nil {
		return "", told.Of(err)
	}
	return d.rewriter.Texts().Statement(function, "mbus4_call."+function), nil
}

// settings are those that hold, without passwords.
func (d *desk) settings() [][2]string {
	limits := d.server.Limits()
	return [][2]string{
		{"listen", strings.Join(d.cfg.Listen, ",")},
		{"upstream", hostsOf(d.cfg.Upstream)},
		{"admin", withoutPassword(d.cfg.Admin)},
		{"max-connections", strconv.Itoa(limits.MaxConnections)},
		{"startup-timeout", limits.StartupTimeout.String()},
		{"drain-timeout", limits.DrainTimeout.String()},
		{"tls", strconv.FormatBool(limits.TLS != nil)},
		{"tls-required", strconv.FormatBool(d.cfg.TLSRequired)},
		{"tcp-keepalive", d.cfg.KeepAlive.String()},
		{"tcp-user-timeout", d.cfg.UserTimeout.String()},
		{"semaphore-interval", d.cfg.SemaphoreInterval.String()},
		{"wait-sweep", d.cfg.WaitSweep.String()},
		{"unqualified", strings.Join(d.cfg.Unqualified, ",")},
		{"no-init", strconv.FormatBool(d.cfg.NoInit)},
		{"no-prepare", strconv.FormatBool(d.cfg.NoPrepare)},
		{"reuse-port", strconv.FormatBool(d.cfg.ReusePort)},
		{"log-level", d.cfg.LogLevel},
		{"http", d.cfg.HTTP},
		{"http-plain", strconv.FormatBool(d.cfg.HTTPPlain)},
		{"trace", withoutUser(d.cfg.Trace)},
		{"console-role", d.cfg.ConsoleRole},
		{"console-database", d.cfg.ConsoleName},
	}
}

// databaseOf is the database of a DSN, which has been read before.
func databaseOf(dsn string) string {
	cfg, err := pgconn.ParseConfig(dsn)
	if err != nil {
		return ""
	}
	return cfg.Database
}

// userOf is the role of a DSN, which has been read before.
func userOf(dsn string) string {
	cfg, err := pgconn.ParseConfig(dsn)
	if err != nil {
		return ""
	}
	return cfg.User
}

// hostsOf says where a DSN leads.
func hostsOf(dsn string) string {
	cfg, err := pgconn.ParseConfig(dsn)
	if err != nil {
		return ""
	}
	hosts := []string{net.JoinHostPort(cfg.Host, strconv.Itoa(int(cfg.Port)))}
	for _, f := range cfg.Fallbacks {
		if h := net.JoinHostPort(f.Host, strconv.Itoa(int(f.Port))); h != hosts[len(hosts)-1] {
			hosts = append(hosts, h)
		}
	}
	return strings.Join(hosts, ",")
}

// withoutPassword says where a DSN leads, and as whom.
func withoutPassword(dsn string) string {
	cfg, err := pgconn.ParseConfig(dsn)
	if err != nil {
		return ""
	}
	return fmt.Sprintf("%s user=%s dbname=%s", hostsOf(dsn), cfg.User, cfg.Database)
}

// withoutUser is the address of a collector without what lets somebody in there.
func withoutUser(address string) string {
	u, err := url.Parse(address)
	if err != nil {
		return ""
	}
	u.User, u.RawQuery, u.Fragment = nil, "", ""
	return u.String()
}
