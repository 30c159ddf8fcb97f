package proxy

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strings"

	"github.com/jackc/pgx/v5/pgconn"

	"mbusproxy/proxy/endpoint"
)

// roomSQL says whether the session in which it runs is in a place that clients may have, too: some places
// are kept for superusers, and from 16 on for others, so the admin role may get in where clients do not.
// A role that is not shown what others' sessions are counts too few, and gets in only as clients do.
const roomSQL = `select (select pg_catalog.count(*) from pg_catalog.pg_stat_get_activity(null) a where a.backend_type operator(pg_catalog.=) 'client backend')
	operator(pg_catalog.<=) (pg_catalog.current_setting('max_connections')::pg_catalog.int8
	operator(pg_catalog.-) pg_catalog.current_setting('superuser_reserved_connections')::pg_catalog.int8
	operator(pg_catalog.-) coalesce(pg_catalog.current_setting('reserved_connections', true), '0')::pg_catalog.int8)`

// ErrNoRoom is the error of Ready where the server has no connection left for clients.
var ErrNoRoom = errors.New("the server has no connections left for clients")

// Ready reports why no client gets a session now, if so: no server can be reached or fits, the one that
// clients would get does not answer, or it takes no more connections. It opens a session there as the
// role of Config.Admin, on the way that clients take. A server that does not let this role in answers,
// and that is all that can be known then.
func (s *Server) Ready(ctx context.Context) error {
	up, err := s.upstreams.Route(ctx)
	if err != nil {
		return err
	}
	c, err := up.Dial(ctx, s.pool, 0)
	if err != nil {
		return err
	}
	defer c.Endpoint.Close()
	cfg, err := pgconn.ParseConfig(s.cfg.Admin)
	if err != nil {
		return fmt.Errorf("reading the admin DSN: %w", err)
	}
	cfg.Host, cfg.TLSConfig, cfg.Fallbacks, cfg.ValidateConnect, cfg.ChannelBinding = "/", nil, nil, nil, "disable"
	cfg.DialFunc = func(context.Context, string, string) (net.Conn, error) { return c.Endpoint.Conn, nil }
	if cfg.RuntimeParams["application_name"] == "" {
		cfg.RuntimeParams["application_name"] = "mbusproxy"
	}
	conn, err := pgconn.ConnectConfig(ctx, cfg)
	var refused *pgconn.PgError
	switch {
	case errors.As(err, &refused) && refused.Code == "53300":
		return fmt.Errorf("%w: %s", ErrNoRoom, refused.Message)
	case errors.As(err, &refused) && !takesNobody(refused.Code):
		return nil
	case err != nil:
		return fmt.Errorf("asking the server: %w", err)
	}
	defer func() {
		last, cancel := context.WithTimeout(context.WithoutCancel(ctx), endpoint.GoodbyeTime)
		defer cancel()
		_ = conn.Close(last)
	}()
	results, err := conn.Exec(ctx, roomSQL).ReadAll()
	if err != nil {
		return fmt.Errorf("asking the server: %w", err)
	}
	if string(results[0].Rows[0][0]) != "t" {
		return ErrNoRoom
	}
	return nil
}

// takesNobody reports whether a server that gives this SQLSTATE to one client gives it to all: its
// resources are at an end, it starts, or it stops.
func takesNobody(code string) bool {
	return strings.HasPrefix(code, "53") || strings.HasPrefix(code, "57P")
}
