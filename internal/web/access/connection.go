package access

import (
	"context"
	"errors"
	"fmt"
	"net"
	"time"

	"github.com/jackc/pgx/v5"
)

// Bounds of what one request may make the server do.
const (
	viewTimeout   = 5 * time.Second // of a statement that shows something
	changeTimeout = 15 * time.Second
	lockTimeout   = 3 * time.Second
	graceTime     = 15 * time.Second // that a request waits for others, beyond the time of one statement
	// idleInTransaction and workLimit are for a machine that is not itself: what passes them ends
	// the session at the server, and with it the log-in.
	idleInTransaction = 30 * time.Second
	workLimit         = time.Minute
	connectLimit      = 15 * time.Second
)

// ErrBusy is the error of a request that waited too long for the log-in's session, which others of its requests use.
var ErrBusy = errors.New("your log-in is busy with other requests")

// ErrEnded is the error of a request whose log-in has lost its sessions at the server.
var ErrEnded = errors.New("the session at the server has ended")

// connection is one session at the server. One request at a time uses it.
type connection struct {
	turn chan struct{} // holds a value while it is in use
	pg   *pgx.Conn
}

// Check says whether a log-in's session may go on in a transaction that has just begun, and that reads only or may change
// something. Its error is that of View or Change.
type Check func(ctx context.Context, tx pgx.Tx, reads bool) error

// dialer opens a connection to the proxy.
type dialer func(ctx context.Context) (net.Conn, error)

// connect opens a session at the server, through the proxy, with a password that the server asks for.
func connect(ctx context.Context, dial dialer, who Credentials, methods string, readOnly bool) (*connection, error) {
	cfg, err := pgx.ParseConfig("host=/ port=5432 user=nobody dbname=nothing password=none sslmode=disable channel_binding=disable")
	if err != nil { // the environment names a service that there is not, or the like
		return nil, fmt.Errorf("preparing a connection: %w", err)
	}
	cfg.User, cfg.Password, cfg.Database = who.User, who.Password, who.Database
	cfg.Fallbacks, cfg.ValidateConnect, cfg.AfterConnect = nil, nil, nil
	cfg.RequireAuth = methods
	cfg.DialFunc = func(ctx context.Context, _, _ string) (net.Conn, error) { return dial(ctx) }
	cfg.DefaultQueryExecMode = pgx.QueryExecModeDescribeExec // nothing stays prepared: a plan is made for the values that it is for
	milliseconds := func(d time.Duration) string { return fmt.Sprint(d.Milliseconds()) }
	timeout := changeTimeout
	if readOnly {
		timeout = viewTimeout
	}
	cfg.RuntimeParams = map[string]string{
		"application_name": "mbusproxy page", "client_encoding": "UTF8", "TimeZone": "UTC", "DateStyle": "ISO, MDY", "IntervalStyle": "postgres", "search_path": "pg_catalog, pg_temp",
		"statement_timeout": milliseconds(timeout), "lock_timeout": milliseconds(lockTimeout),
		"idle_in_transaction_session_timeout": milliseconds(idleInTransaction), "default_transaction_read_only": "on", "default_transaction_isolation": "read committed",
	}
	cfg.Tracer = new(forgetter)
	pg, err := pgx.ConnectConfig(ctx, cfg)
	cfg.Password = ""
	if err != nil {
		return nil, err
	}
	if _, err := pg.Exec(ctx, "select"); err != nil { // the proxy's console logs in as a database does, and knows no SQL
		_ = pg.Close(ctx)
		return nil, err
	}
	return &connection{turn: make(chan struct{}, 1), pg: pg}, nil
}

// use runs f in a transaction of the connection's. The transaction ends before use returns: no
// snapshot outlives a request. It commits if f succeeds and keep is set; else it only reads. check
// comes before f and may refuse; nil: there is none.
//
// A request that is given up does not interrupt f, for that would break the connection, and with it
// the log-in; statement_timeout bounds it.
func (c *connection) use(ctx context.Context, limit time.Duration, keep bool, check Check, f func(ctx context.Context, tx pgx.Tx) error) error {
	patience, cancel := context.WithTimeout(ctx, limit+graceTime)
	defer cancel()
	select {
	case c.turn <- struct{}{}:
		defer func() { <-c.turn }()
	case <-patience.Done():
		return ErrBusy
	}
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if c.pg.IsClosed() {
		return ErrEnded
	}
	work, cancel := context.WithTimeout(context.WithoutCancel(ctx), workLimit)
	defer cancel()
	mode := pgx.ReadOnly
	if keep {
		mode = pgx.ReadWrite
	}
	tx, err := c.pg.BeginTx(work, pgx.TxOptions{AccessMode: mode})
	if err == nil {
		if check != nil {
			err = check(work, tx, !keep)
		}
		if err == nil {
			err = f(work, tx)
		}
		if err == nil && keep {
			err = tx.Commit(work)
		}
		if undo := tx.Rollback(work); err == nil && undo != nil && !errors.Is(undo, pgx.ErrTxClosed) {
			err = undo
		}
	}
	if c.pg.IsClosed() {
		return errors.Join(ErrEnded, err)
	}
	return err
}

// close ends the session, once nobody uses it or a moment has passed.
func (c *connection) close() {
	ctx, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	select {
	case c.turn <- struct{}{}:
		_ = c.pg.Close(ctx)
		<-c.turn
	case <-ctx.Done():
		_ = c.pg.PgConn().Conn().Close()
	}
}
