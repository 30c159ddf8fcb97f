package admin

import (
	"context"
	"fmt"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/jackc/pgx/v5"
)

const (
	// ServiceLockWait is how long a service waits for a lock. It is well below the server's deadlock_timeout
	// (1 s unless set otherwise): should a service and a client's DDL wait for one another, the service
	// gives up before the server looks for a deadlock and cancels one of the two.
	ServiceLockWait = 400 * time.Millisecond
	// CallLockWait is how long what the engine does for a client's call waits for a lock. Longer,
	// because the call fails with it.
	CallLockWait = 2 * time.Second
)

// Settle sets what queries of the engine rely on, whatever is set for the role or the database:
// they see what is committed, use the indexes, do not wait for a standby, and wait for a lock no
// longer than lockWait.
func Settle(ctx context.Context, conn *pgx.Conn, lockWait time.Duration) error {
	_, err := conn.PgConn().Exec(ctx, fmt.Sprintf(`
		set search_path = pg_catalog;
		set timezone = 'UTC';
		set datestyle = 'ISO';
		set default_transaction_isolation = 'read committed';
		set synchronous_commit = off;
		set lock_timeout = %d;
		set statement_timeout = '60s';
		set enable_seqscan = off;
		set enable_bitmapscan = off;
		set jit = off;
		set max_parallel_workers_per_gather = 0`, lockWait.Milliseconds())).ReadAll()
	if err != nil {
		return fmt.Errorf("setting up the session: %w", err)
	}
	return nil
}

// ReadBytes has the server send names and texts as they are stored, and take them so. It is for
// sessions that read what clients have written and give it back to the server: a database whose
// encoding is SQL_ASCII holds bytes of any kind, and others have codes that are no character, which
// the server can neither send nor take as UTF-8; then one row would fail a statement for all rows.
//
// What is sent over such a session beside that must be ASCII, or pass through Storable.
func ReadBytes(ctx context.Context, conn *pgx.Conn) error {
	_, err := conn.PgConn().Exec(ctx, `select pg_catalog.set_config('client_encoding', pg_catalog.getdatabaseencoding(), false)`).ReadAll()
	if err != nil {
		return fmt.Errorf("choosing the encoding of the session: %w", err)
	}
	return nil
}

// Storable makes a text of ours, or of the server's, one that a session as ReadBytes leaves it can
// store: it is cut in no place where a character may be, and so has no others than ASCII where a
// character has several bytes that are not those of UTF-8.
func Storable(conn *pgx.Conn, text *string) *string {
	encoding := conn.PgConn().ParameterStatus("server_encoding")
	if text == nil || !strings.HasPrefix(encoding, "EUC_") && encoding != "MULE_INTERNAL" {
		return text
	}
	ascii := strings.Map(func(r rune) rune {
		if r >= utf8.RuneSelf {
			return '?'
		}
		return r
	}, *text)
	return &ascii
}
