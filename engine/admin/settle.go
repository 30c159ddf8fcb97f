package admin

import (
	"context"
	"fmt"
	"time"

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
