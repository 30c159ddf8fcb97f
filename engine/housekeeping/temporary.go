package housekeeping

import (
	"context"
	"fmt"
	"math"
	"time"

	"github.com/jackc/pgx/v5"
)

const (
	reapInterval = time.Second // how long a temporary queue may outlive its session while its database is in use
	reapBatch    = 500         // queues that are removed in one transaction
)

// reaper removes the temporary queues whose sessions are gone, and the triggers that feed them. Their
// messages become unreachable at once; the sweeper removes them.
type reaper struct {
	under bool  // a pass is under way
	last  int64 // the queue that it has removed last
}

// Reap takes one turn. It reports whether there were any temporary queues before, so the last one is
// still reported once.
func (r *reaper) Reap(ctx context.Context, conn *pgx.Conn, turn *slice) (found bool, err error) {
	const exist = `select exists (select from mbus4.queue where kind = 'temp')`
	if err := conn.QueryRow(ctx, exist).Scan(&found); err != nil {
		return false, fmt.Errorf("looking for temporary queues: %w", err)
	}
	for found {
		var gone int
		var last *int64
		behind := int64(math.MinInt64)
		if r.under {
			behind = r.last
		}
		err := conn.QueryRow(ctx, `select gone, last from mbus4.drop_dead_temporary_queues($1, $2)`, behind, reapBatch).Scan(&gone, &last)
		if r.under = err == nil && gone == reapBatch; r.under {
			r.last = *last
		}
		if err != nil {
			return true, fmt.Errorf("removing temporary queues: %w", err)
		}
		if !r.under || turn.over() {
			break
		}
	}
	return found, nil
}
