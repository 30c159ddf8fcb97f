package housekeeping

import (
	"context"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
)

// reapInterval is how long a temporary queue may outlive its session while its database is in use.
const reapInterval = time.Second

// reapTemporary removes the temporary queues whose sessions are gone and reports whether others are
// left.
func reapTemporary(ctx context.Context, conn *pgx.Conn) (left bool, err error) {
	const exist = `select exists (select from mbus4.queue where kind = 'temp')`
	if err := conn.QueryRow(ctx, exist).Scan(&left); err != nil {
		return false, fmt.Errorf("looking for temporary queues: %w", err)
	}
	if !left {
		return false, nil
	}
	if _, err := conn.Exec(ctx, `select mbus4.drop_dead_temporary_queues()`); err != nil {
		return true, fmt.Errorf("removing temporary queues: %w", err)
	}
	return true, nil
}
