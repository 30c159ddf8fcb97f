package tour

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
)

// message is a message of a saga as it was received.
type message struct {
	iid     string
	queue   string
	data    string // the whole payload, to put it back
	tourID  int64
	step    Step
	bung    string
	take    []string
	attempt int // 1 the first time
}

const messageColumns = `m.iid, m.data::text, (m.data->'tour_id')::bigint, coalesce(m.data->'step', ''), coalesce(m.data->'bung', ''),
	coalesce((m.data->'take')::text[], '{}'), coalesce((m.properties->'attempt')::int, 1)`

func scanMessage(row pgx.Row, queue string) (*message, error) {
	m := &message{queue: queue}
	err := row.Scan(&m.iid, &m.data, &m.tourID, &m.step, &m.bung, &m.take, &m.attempt)
	if errors.Is(err, pgx.ErrNoRows) {
		return nil, nil
	}
	return m, err
}

// consume gives nil when nothing in the queue is due.
func consume(ctx context.Context, tx pgx.Tx, queue string) (*message, error) {
	m, err := scanMessage(tx.QueryRow(ctx, "select "+messageColumns+" from mbus4.consume($1) m", queue), queue)
	if err != nil {
		return nil, fmt.Errorf("consuming from %s: %w", queue, err)
	}
	return m, nil
}

// take removes a message for good, waiting for whoever is working on it, and gives nil when it was
// consumed. A message its holder puts back while take waits is a new one that take has not seen, so
// that is looked for; once there is none, there never will be one, for only who consumed it puts it
// back.
func take(ctx context.Context, tx pgx.Tx, iid string) (*message, error) {
	for {
		m, err := scanMessage(tx.QueryRow(ctx, "select "+messageColumns+" from mbus4.take($1) m where m.iid is not null", iid), "")
		if m != nil || err != nil {
			return m, wrap(err, "taking", iid)
		}
		var putBack bool
		if err := tx.QueryRow(ctx, "select mbus4.is_msg_exists($1)", iid).Scan(&putBack); !putBack || err != nil {
			return nil, wrap(err, "looking for", iid)
		}
	}
}

// putBack posts a consumed message again, for later, in the transaction that consumed it. Under its old
// iid, so what waits for it keeps waiting.
func (m *message) putBack(ctx context.Context, tx pgx.Tx, delay time.Duration) error {
	_, err := tx.Exec(ctx, `select mbus4.post($1, $2::text::hstore, properties => hstore('attempt', $3::int::text),
		delayed_until => (clock_timestamp() + $4::bigint * interval '1 microsecond')::timestamp, iid => $5)`,
		m.queue, m.data, m.attempt+1, delay.Microseconds(), m.iid)
	return wrap(err, "putting back", m.iid)
}

func wrap(err error, doing, iid string) error {
	if err != nil {
		return fmt.Errorf("%s %s: %w", doing, iid, err)
	}
	return nil
}
