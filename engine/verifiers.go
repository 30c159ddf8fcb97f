package engine

import (
	"context"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5"
	"go.uber.org/zap"

	"mbusproxy/engine/admin"
	"mbusproxy/engine/refusal"
)

const (
	verifierIdle    = 10 * time.Second // without a lookup: the connection is closed
	verifierRecheck = 10 * time.Second // after finding that verifiers cannot be read
	verifierTimeout = 15 * time.Second // of one lookup, connecting included
)

// Verifiers reads the verifiers of passwords from pg_authid, in the database of the admin's DSN. It
// is safe for concurrent use; lookups take turns on one connection, which closes when it is idle.
type Verifiers struct {
	engine *Engine
	// readable is read without waiting for a turn: a lookup that hangs must not hold up logins that the proxy
	// can serve from its cache.
	readable atomic.Bool
	turn     chan struct{} // capacity 1; holds a token while somebody uses what follows

	conn    *pgx.Conn   // nil: none open
	closing *time.Timer // closes conn; nil: there never was one
	closed  bool
	checked time.Time // when readable was found to be false
}

func newVerifiers(e *Engine) *Verifiers {
	return &Verifiers{engine: e, turn: make(chan struct{}, 1)}
}

// Verifiers gives access to the verifiers of passwords.
func (e *Engine) Verifiers() *Verifiers { return e.verifiers }

// Readable reports whether the admin role may read verifiers. A no is looked into again after a
// while; a yes holds until a lookup is refused.
func (v *Verifiers) Readable(ctx context.Context) bool {
	if v.readable.Load() {
		return true
	}
	if v.enter(ctx) != nil {
		return false
	}
	defer v.leave()
	if v.readable.Load() || time.Since(v.checked) < verifierRecheck {
		return v.readable.Load()
	}
	answer, err := v.ask(ctx, `
		select pg_catalog.has_column_privilege('pg_catalog.pg_authid', 'rolname', 'select')
		   and pg_catalog.has_column_privilege('pg_catalog.pg_authid', 'rolpassword', 'select')`)
	if err != nil {
		v.engine.log.Warn("cannot find out whether password verifiers may be read", zap.Error(err))
	}
	v.readable.Store(answer == "t")
	v.checked = time.Now()
	return answer == "t"
}

// Verifier returns rolpassword of a role, "" where there is none or no such role.
func (v *Verifiers) Verifier(ctx context.Context, role string) (string, error) {
	if err := v.enter(ctx); err != nil {
		return "", err
	}
	defer v.leave()
	answer, err := v.ask(ctx, `select rolpassword from pg_catalog.pg_authid where rolname = $1`, role)
	switch refusal.SQLState(err) {
	case refusal.LackingRights:
		v.readable.Store(false)
		v.checked = time.Now()
	case "22021": // character_not_in_repertoire: no role has such a name
		return "", nil
	}
	if err != nil {
		return "", fmt.Errorf("reading a password verifier: %w", err)
	}
	return answer, nil
}

// enter waits for the caller's turn.
func (v *Verifiers) enter(ctx context.Context) error {
	select {
	case v.turn <- struct{}{}:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (v *Verifiers) leave() { <-v.turn }

// ask runs a query and returns the one value of its first row, "" for null or no row. Where the
// connection turns out to have died since the last lookup, ask tries again with a new one.
func (v *Verifiers) ask(ctx context.Context, sql string, args ...string) (string, error) {
	if v.closed {
		return "", &refusal.Error{Code: refusal.AdminShutdown, Message: "mbusproxy is shutting down", Hint: "In a moment you should be able to reconnect and repeat your command."}
	}
	ctx, cancel := context.WithTimeout(ctx, verifierTimeout)
	defer cancel()
	ctx, release := v.engine.untilStop(ctx) // ends before close has its turn
	defer release()
	values := make([][]byte, len(args))
	for i, a := range args {
		values[i] = []byte(a)
	}
	for {
		reused := v.conn != nil
		if err := v.connect(ctx); err != nil {
			return "", err
		}
		// Not by the simple protocol, which pgx refuses with this encoding.
		r := v.conn.PgConn().ExecParams(ctx, sql, values, nil, nil, nil).Read()
		if v.conn.IsClosed() {
			v.conn = nil
			if reused && r.Err != nil && ctx.Err() == nil {
				continue
			}
		}
		if r.Err != nil || len(r.Rows) == 0 {
			return "", r.Err
		}
		return string(r.Rows[0][0]), nil
	}
}

// connect opens the connection unless it is open, and starts its idle time afresh.
func (v *Verifiers) connect(ctx context.Context) error {
	if v.conn == nil {
		conn, err := v.engine.server.ConnectRaw(ctx)
		if err != nil {
			return err
		}
		v.conn = conn
	}
	if v.closing == nil {
		v.closing = time.AfterFunc(verifierIdle, v.closeIdle)
	} else {
		v.closing.Reset(verifierIdle)
	}
	return nil
}

// closeIdle closes the connection when it has been idle for verifierIdle.
func (v *Verifiers) closeIdle() {
	v.turn <- struct{}{}
	defer v.leave()
	v.disconnect()
}

func (v *Verifiers) disconnect() {
	if v.conn != nil {
		admin.Close(context.Background(), v.conn)
		v.conn = nil
	}
}

// close ends all lookups.
func (v *Verifiers) close() {
	v.turn <- struct{}{}
	defer v.leave()
	v.closed = true
	if v.closing != nil {
		v.closing.Stop()
	}
	v.disconnect()
}
