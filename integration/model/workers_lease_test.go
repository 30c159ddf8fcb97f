package model

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/jackc/pgx/v5/pgproto3"

	"mbusproxy/integration/internal/harness"
)

// work is one turn of a worker.
func (w *modelHand) work(ctx context.Context) error {
	switch draw := w.random.IntN(100); {
	case draw < 45:
		return w.lease(ctx)
	case draw < 80:
		return w.consume(ctx)
	case draw < 90:
		return w.late(ctx)
	case draw < 95:
		return w.leave(ctx)
	}
	_, err := w.do(ctx, modelTick)
	return err
}

// wait runs a statement whose call waits, and gives n and what else there is of the first row; found: there is one.
func (w *modelHand) wait(ctx context.Context, sql string, args ...any) (g modelGrant, found bool, err error) {
	began := time.Now()
	text, err := w.do(ctx, sql, args...)
	if err != nil || text == "" {
		return g, false, err
	}
	w.waits.Add(1)
	for took := int64(time.Since(began)); ; {
		if before := w.longest.Load(); took <= before || w.longest.CompareAndSwap(before, took) {
			break
		}
	}
	line, _, _ := strings.Cut(text, "\n")
	g.n, g.lease, _ = strings.Cut(line, "|")
	return g, true, nil
}

// lease waits for a message, and does with it what workers do.
func (w *modelHand) lease(ctx context.Context) error {
	g, found, err := w.wait(ctx, `insert into event (n, kind, lease, until)
		select (m.data->'n')::bigint, 'granted', m.lease, m.leased_until from mbus4.lease($1, lease => $2, wait => '`+modelWait+`') m returning n, lease`,
		w.queue(), fmt.Sprintf("%d ms", 20+w.random.IntN(400)))
	if err != nil || !found {
		return err
	}
	w.mu.Lock()
	w.leases = append(w.leases, g)
	w.leases = w.leases[max(0, len(w.leases)-30):]
	w.mu.Unlock()
	if w.chance(30) { // it works, perhaps for too long
		<-time.After(time.Duration(w.random.IntN(300)) * time.Millisecond)
	}
	if w.chance(15) {
		text, err := w.do(ctx, `insert into event (n, kind, lease, until)
			select $1::bigint, 'extended', x.lease, timestamptz 'epoch' + split_part(x.lease, '.', 4)::bigint * interval '1 microsecond'
			from (select mbus4.extend($2, '200 ms') as lease offset 0) x where x.lease is not null returning lease`, g.n, g.lease)
		if err != nil {
			return err
		}
		if text != "" && w.chance(80) { // else it uses the name that holds nothing
			g.lease = text
		}
	}
	return w.settleLease(ctx, g)
}

// settleLease acks, retries, fails, forgets a lease, or dies.
func (w *modelHand) settleLease(ctx context.Context, g modelGrant) (err error) {
	const settle = "insert into event (n, kind, lease) select $1::bigint, $2, $3 from (select %s as done offset 0) x where x.done"
	switch draw := w.random.IntN(100); {
	case draw < 60:
		_, err = w.do(ctx, fmt.Sprintf(settle, "mbus4.ack($3)"), g.n, "acked", g.lease)
	case draw < 70:
		_, err = w.do(ctx, fmt.Sprintf(settle, "mbus4.retry($3::text, 'again')"), g.n, "retried", g.lease)
	case draw < 75:
		_, err = w.do(ctx, fmt.Sprintf(settle, "mbus4.retry($3::text, delay => '0')"), g.n, "retried", g.lease)
	case draw < 82:
		_, err = w.do(ctx, fmt.Sprintf(settle, "mbus4.fail($3, 'never')"), g.n, "failed", g.lease)
	case draw < 90: // the settling is undone
		if err = w.all(ctx, "begin"); err == nil {
			if _, err = w.do(ctx, fmt.Sprintf(settle, "mbus4.ack($3)"), g.n, "acked", g.lease); err == nil {
				err = w.all(ctx, "rollback")
			}
		}
	case draw < 93:
		err = w.dies()
	}
	return err
}

// late settles by a lease that somebody has or had.
func (w *modelHand) late(ctx context.Context) error {
	w.mu.Lock()
	if len(w.leases) == 0 {
		w.mu.Unlock()
		return nil
	}
	g := w.leases[w.random.IntN(len(w.leases))]
	w.mu.Unlock()
	return w.settleLease(ctx, g)
}

// consume waits for a message in a transaction, which ends in any way.
func (w *modelHand) consume(ctx context.Context) error {
	if err := w.all(ctx, "begin"); err != nil {
		return err
	}
	if w.chance(20) { // it is put back by the transaction that has consumed it
		_, _, err := w.wait(ctx, `insert into event (n, kind) select (m.data->'n')::bigint, case when mbus4.retry(m, 'not now', delay => '10 ms') then 'put back' else 'not put back' end
			from mbus4.consume($1, wait => '`+modelWait+`') m returning n`, w.queue())
		if err != nil {
			return err
		}
	} else if _, _, err := w.wait(ctx, `insert into event (n, kind) select (m.data->'n')::bigint, 'consumed' from mbus4.consume($1, wait => '`+modelWait+`') m returning n`, w.queue()); err != nil {
		return err
	}
	switch draw := w.random.IntN(100); {
	case draw < 5:
		return w.dies()
	case draw < 25:
		return w.all(ctx, "rollback")
	}
	return w.all(ctx, "commit")
}

// leave has a call wait and goes away: it is cancelled, or its client is gone, perhaps just when a message comes.
func (w *modelHand) leave(ctx context.Context) error {
	sql := fmt.Sprintf("insert into event (n, kind) select (m.data->'n')::bigint, 'consumed' from mbus4.consume('%s', wait => '%s') m", w.queue(), modelWait)
	if w.chance(50) {
		w.conn.Frontend().Send(&pgproto3.Query{String: sql})
		if err := w.conn.Frontend().Flush(); err != nil {
			return err
		}
		<-time.After(time.Duration(w.random.IntN(20)) * time.Millisecond)
		return w.dies()
	}
	done := make(chan error, 1)
	go func() {
		_, err := harness.Query(ctx, w.conn, sql)
		done <- err
	}()
	<-time.After(time.Duration(w.random.IntN(20)) * time.Millisecond)
	for {
		if err := w.conn.CancelRequest(ctx); err != nil {
			return err
		}
		select {
		case err := <-done:
			if harness.SQLState(err) == "57014" {
				err = nil
			}
			return err
		case <-time.After(20 * time.Millisecond): // it had not begun
		}
	}
}
