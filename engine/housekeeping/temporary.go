package housekeeping

import (
	"context"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
)

// reapInterval is how long a temporary queue may outlive its session while its database is in use.
const reapInterval = time.Second

// reapTemporary removes the temporary queues whose sessions are gone. It reports whether there were
// any temporary queues before, so the last one is still reported once.
func reapTemporary(ctx context.Context, conn *pgx.Conn) (found bool, err error) {
	const exist = `select exists (select from mbus4.queue where kind = 'temp')`
	if err := conn.QueryRow(ctx, exist).Scan(&found); err != nil {
		return false, fmt.Errorf("looking for temporary queues: %w", err)
	}
	if !found {
		return false, nil
	}
	if _, err := conn.Exec(ctx, `select mbus4.drop_dead_temporary_queues()`); err != nil {
		return true, fmt.Errorf("removing temporary queues: %w", err)
	}
	return true, nil
}
