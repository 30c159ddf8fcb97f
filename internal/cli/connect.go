package cli

import (
	"context"
	"errors"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
)

const connectTimeout = 10 * time.Second

// Session is a connection for one command. It is not safe for concurrent use.
type Session struct {
	conn  *pgx.Conn
	dsn   string
	types map[uint32]string // names of types that no client knows by their OID
	// console is a session of the proxy's console; nil: none is open. refused: none is to be had.
	console *pgx.Conn
	refused bool
}

// Connect opens a session. An empty dsn means that PGHOST and its like say where. notice is told
// what the server says beside the results; it may be nil.
func Connect(ctx context.Context, dsn string, notice func(string)) (*Session, error) {
	conn, err := open(ctx, dsn, "mbusproxy", notice)
	if err != nil {
		return nil, err
	}
	return &Session{conn: conn, dsn: dsn, types: map[uint32]string{}}, nil
}

// Open opens a connection as Connect does, with a name by which the server shows it, and has the proxy serve the database.
// It fails where something there is not to be trusted.
func Open(ctx context.Context, dsn, name string) (*pgx.Conn, error) {
	conn, err := open(ctx, dsn, name, nil)
	if err != nil {
		return nil, err
	}
	if err := serve(ctx, conn); err != nil {
		_ = conn.Close(context.WithoutCancel(ctx))
		return nil, err
	}
	return conn, nil
}

func open(ctx context.Context, dsn, name string, notice func(string)) (*pgx.Conn, error) {
	return openAt(ctx, dsn, "", name, notice)
}

// openAt is open for another database than that of the DSN, unless it is "".
func openAt(ctx context.Context, dsn, database, name string, notice func(string)) (*pgx.Conn, error) {
	cfg, err := pgx.ParseConfig(dsn)
	if err != nil {
		return nil, connectError(err)
	}
	if database != "" {
		cfg.Database = database
	}
	if cfg.ConnectTimeout == 0 {
		cfg.ConnectTimeout = connectTimeout
	}
	if cfg.RuntimeParams["application_name"] == "" {
		cfg.RuntimeParams["application_name"] = name
	}
	cfg.RuntimeParams["DateStyle"] = "ISO"
	// The owner of a database chooses the search_path of sessions in it, and with it whose
	// operators a statement means that names no schema.
	cfg.RuntimeParams["search_path"] = "pg_catalog, pg_temp"
	cfg.OnNotice = func(_ *pgconn.PgConn, n *pgconn.Notice) {
		if notice != nil {
			notice(n.Message)
		}
	}
	conn, err := pgx.ConnectConfig(ctx, cfg)
	if isPoolers(err) {
		delete(cfg.RuntimeParams, "search_path")
		conn, err = pgx.ConnectConfig(ctx, cfg)
	}
	if err != nil {
		return nil, connectError(err)
	}
	return conn, nil
}

// isPoolers reports whether pgbouncer is in the way, which refuses settings that it does not follow.
func isPoolers(err error) bool {
	var refused *pgconn.PgError
	return errors.As(err, &refused) && refused.Code == "08P01" && strings.Contains(refused.Message, "search_path")
}

// Close ends the session. What its transaction did and did not commit is undone.
func (s *Session) Close() {
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Second)
	defer cancel()
	_ = s.conn.Close(ctx)
	if s.console != nil {
		_ = s.console.Close(ctx)
	}
}
