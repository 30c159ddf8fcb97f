package app

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"time"

	"github.com/jackc/pgx/v5/pgconn"
	"go.uber.org/zap"

	"mbusproxy/engine"
	"mbusproxy/internal/rewriter"
	"mbusproxy/internal/told"
	"mbusproxy/internal/web"
)

// newPage makes the web page that is served on a listener.
func newPage(m *monitor, r *rewriter.Rewriter, l net.Listener) (*web.Page, error) {
	p, err := web.New(web.Config{
		Version: m.cfg.Version, Dial: m.server.Dial, Trusting: m.cfg.PageTrust, Database: upstreamDatabase(m.cfg), ConsoleRole: m.cfg.ConsoleRole, Admin: userOf(m.cfg.Admin),
		Proxy: m.server.Stats, End: m.server.EndSession, Calls: r.Calls, Condition: m.condition,
		Loopback: isLoopback(l.Addr()), Plain: m.cfg.HTTPPlain, HasTLS: m.server.TLS() != nil, Cookie: cookieName(l.Addr()), Log: m.log,
	})
	if err != nil {
		return nil, fmt.Errorf("making the page: %w", err)
	}
	return p, nil
}

// upstreamDatabase is the database that the form of the log-in suggests.
func upstreamDatabase(cfg Config) string {
	up, err := pgconn.ParseConfig(cfg.Upstream)
	if err != nil {
		return databaseOf(cfg.Admin)
	}
	return cmp.Or(up.Database, databaseOf(cfg.Admin))
}

// condition makes SQL of a selector, as those of a database's consumers are made.
func (m *monitor) condition(ctx context.Context, database, selector string) (string, error) {
	db, err := m.engine.DatabaseFor(ctx, database, "", time.Time{})
	if err != nil {
		return "", told.Of(err)
	}
	sql, err := db.Condition(ctx, selector)
	var refused *engine.Error
	if err != nil && !errors.As(err, &refused) {
		m.log.Warn("a selector of the page's cannot be read", zap.Error(err))
	}
	return sql, err
}

// isLoopback reports whether an address is reached from this machine only.
func isLoopback(a net.Addr) bool {
	p, err := netip.ParseAddrPort(a.String())
	return err == nil && p.Addr().Unmap().IsLoopback()
}

// cookieName differs between two proxies on one machine: browsers give a cookie to all ports of a host.
func cookieName(a net.Addr) string {
	_, port, err := net.SplitHostPort(a.String())
	if err != nil {
		return "mbusproxy"
	}
	return "mbusproxy_" + port
}
