package cli

import (
	"context"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
)

const connectTimeout = 10 * time.Second

// Session is a connection for one command. It is not safe for concurrent use.
type Session struct {
	conn   *pgx.Conn
	types  map[uint32]string // names of types that no client knows by their OID
	notice func(string)      // is told the server's notices; may be nil
}

// Connect opens a session. An empty dsn means that PGHOST and its like say where. notice is told what the server says beside the
// results; it may be nil.
func Connect(ctx context.Context, dsn string, notice func(string)) (*Session, error) {
	cfg, err := pgx.ParseConfig(dsn)
	if err != nil {
		return nil, connectError(err)
	}
	if cfg.ConnectTimeout == 0 {
		cfg.ConnectTimeout = connectTimeout
	}
	s := &Session{types: map[uint32]string{}, notice: notice}
	cfg.DefaultQueryExecMode = pgx.QueryExecModeExec // each statement is sent once
	if cfg.RuntimeParams["application_name"] == "" {
		cfg.RuntimeParams["application_name"] = "mbusproxy"
	}
	cfg.RuntimeParams["DateStyle"] = "ISO"
	cfg.OnNotice = func(_ *pgconn.PgConn, n *pgconn.Notice) {
		if s.notice != nil {
			s.notice(n.Message)
		}
	}
	s.conn, err = pgx.ConnectConfig(ctx, cfg)
	if err != nil {
		return nil, connectError(err)
	}
	return s, nil
}

// Close ends the session. What its transaction did and did not commit is undone.
func (s *Session) Close() {
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Second)
	defer cancel()
	_ = s.conn.Close(ctx)
}
