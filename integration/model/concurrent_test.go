package model

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgconn"

	"mbusproxy/internal/wiretest"

	"mbusproxy/integration/internal/forms"
	"mbusproxy/integration/internal/harness"
)

const modelWorkers = 6

// The same without a model, and all at once: sessions write down, in the transactions in which they
// post and receive, what they do, and in the end the books must balance. Each message that was posted
// is received once by each consumer that it is for, after all it waits for, and no other.
func TestModelConcurrent(t *testing.T) {
	t.Parallel()
	limit, seed := wiretest.Settings(t, "MBUS_MODEL", 8*time.Second)
	second := harness.NewProxy(t).Endpoint
	database := harness.NewQueueDatabase(t, "qa", "qb", "qc")
	server := harness.Connect(t, harness.Proxied(), database)
	harness.Ask(t, server, "select mbus4.create_consumer('qa', 'ca', $1)", modelSelectors[1])
	harness.Ask(t, server, "select mbus4.create_consumer('qa', 'cc')")
	harness.Ask(t, server, "select mbus4.create_consumer('qb', 'cb', $1)", modelSelectors[2])
	harness.Ask(t, server, "select mbus4.create_trigger('qa', 'qb', $1)", modelSelectors[2])
	harness.Ask(t, server, `create table posted (n bigint, queue text, k text, p text, iid text);
		create table dependency (iid text, dep text);
		create table received (n bigint, queue text, consumer text, iid text, at timestamptz default clock_timestamp())`)
	c := &modelCrowd{database: database, ends: []harness.Endpoint{harness.Proxied(), second}, until: time.Now().Add(limit / 2)}
	ctx, cancel := context.WithTimeout(t.Context(), limit+harness.TestLimit)
	defer cancel()
	errs := make([]error, modelWorkers)
	var workers sync.WaitGroup
	for i := range errs {
		workers.Go(func() { errs[i] = c.work(ctx, rand.New(rand.NewPCG(seed, uint64(i)))) })
	}
	workers.Wait()
	if err := errors.Join(errs...); err != nil {
		t.Fatalf("MBUS_MODEL_SEED=%d: %v", seed, err)
	}

	// What a copy along the trigger is for is known as well.
	harness.Ask(t, server, `create view wanted as
		with message as (
			select n, queue, k, p from posted
			union all
			select n, 'qb', k, p from posted where queue = 'qa' and p = 'x'
		)
		select m.n, m.queue, c.consumer
		from message m
		join (values ('qa', 'default', null, null), ('qa', 'ca', 'a', null), ('qa', 'cc', null, null), ('qb', 'default', null, null),
		             ('qb', 'cb', null, 'x'), ('qc', 'default', null, null)) c (queue, consumer, k, p)
		  on c.queue = m.queue and (c.k is null or c.k = m.k) and (c.p is null or c.p = m.p)`)
	deadline := time.Now().Add(harness.TestLimit / 2)
	for harness.Ask(t, server, "select count(*) = 0 from mbus4.message") != "t" {
		for _, by := range modelSubscriptions {
			harness.Ask(t, server, modelReceive, by[0], by[1], 100)
		}
		if time.Now().After(deadline) {
			t.Errorf("not delivered: %s", harness.Ask(t, server, "select * from wanted except all select n, queue, consumer from received limit 20"))
			break
		}
	}
	for what, sql := range map[string]string{
		"lost":       "select n, queue, consumer from wanted except all select n, queue, consumer from received",
		"not for it": "select n, queue, consumer from received except all select n, queue, consumer from wanted",
		"before its dependency": `select d.iid, d.dep from dependency d join received m on m.iid = d.iid
			join received f on f.iid = d.dep and f.at > m.at`,
	} {
		if got := harness.Ask(t, server, sql+" limit 20"); got != "" {
			t.Errorf("MBUS_MODEL_SEED=%d: %s:\n%s", seed, what, got)
		}
	}
	t.Logf("%d transactions, of which %d died; %s messages posted, %s received, %s waited for others", c.transactions.Load(), c.died.Load(),
		harness.Ask(t, server, "select count(*) from posted"), harness.Ask(t, server, "select count(*) from received"),
		harness.Ask(t, server, "select count(distinct iid) from dependency"))
}

// modelSubscriptions are the consumers of TestModelConcurrent.
var modelSubscriptions = [][2]string{{"qa", "default"}, {"qa", "ca"}, {"qa", "cc"}, {"qb", "default"}, {"qb", "cb"}, {"qc", "default"}}

const modelReceive = `insert into received (n, queue, consumer, iid)
	select (m.data->'n')::bigint, $1, $2, m.iid from mbus4.consumen($1, $2, $3) m returning n, iid`

// modelCrowd is what the workers share.
type modelCrowd struct {
	database           string
	ends               []harness.Endpoint
	until              time.Time
	number             atomic.Int64
	transactions, died atomic.Int64

	mu        sync.Mutex
	committed []string // iids that were posted
}

// modelWorker is one of them.
type modelWorker struct {
	*modelCrowd
	random *rand.Rand
	conn   *pgconn.PgConn
	posted []string // in this transaction
}

// work does one transaction after another.
func (c *modelCrowd) work(ctx context.Context, random *rand.Rand) error {
	w := &modelWorker{modelCrowd: c, random: random}
	defer func() {
		if w.conn != nil {
			harness.Close(w.conn)
		}
	}()
	for time.Now().Before(c.until) {
		if w.conn == nil {
			var err error
			if w.conn, err = pgconn.Connect(ctx, c.ends[random.IntN(2)].DSN(c.database)); err != nil {
				return fmt.Errorf("connecting: %w", err)
			}
		}
		if err := w.transaction(ctx); err != nil {
			return fmt.Errorf("%s: %w", harness.Describe(err), err)
		}
		c.transactions.Add(1)
	}
	return nil
}

// do runs one statement in any form.
func (w *modelWorker) do(ctx context.Context, sql string, args ...any) (string, error) {
	f := forms.All()[w.random.IntN(len(forms.All()))]
	text, err := f.Run(ctx, w.conn, forms.Do(sql, args...))
	if err != nil {
		return "", fmt.Errorf("%s %v: %w", sql, args, err)
	}
	return text, nil
}

// transaction posts and receives, and ends in any way.
func (w *modelWorker) transaction(ctx context.Context) error {
	w.posted = nil
	if _, err := w.do(ctx, "begin"); err != nil {
		return err
	}
	for range 1 + w.random.IntN(5) {
		undo := w.random.IntN(5) == 0
		before := len(w.posted)
		if undo {
			if _, err := w.do(ctx, "savepoint s"); err != nil {
				return err
			}
		}
		if err := w.act(ctx); err != nil {
			return err
		}
		if undo {
			w.posted = w.posted[:before]
			if _, err := w.do(ctx, "rollback to savepoint s"); err != nil {
				return err
			}
		}
	}
	switch draw := w.random.IntN(100); {
	case draw < 5:
		w.died.Add(1)
		conn := w.conn
		w.conn = nil
		return harness.Abort(conn)
	case draw < 20:
		_, err := w.do(ctx, "rollback")
		return err
	}
	if _, err := w.do(ctx, "commit"); err != nil {
		return err
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.committed = append(w.committed, w.posted...)
	w.committed = w.committed[max(0, len(w.committed)-40):]
	return nil
}

// act does one thing within the transaction.
func (w *modelWorker) act(ctx context.Context) error {
	if w.random.IntN(100) < 35 {
		return w.post(ctx, []string{"qa", "qb", "qc"}[w.random.IntN(3)], "")
	}
	by := modelSubscriptions[w.random.IntN(len(modelSubscriptions))]
	text, err := w.do(ctx, modelReceive, by[0], by[1], 1+w.random.IntN(4))
	if err != nil || text == "" || by[0] != "qc" || w.random.IntN(2) > 0 {
		return err
	}
	// Only qc has but one consumer: elsewhere who gets it again depends on the others.
	line, _, _ := strings.Cut(text, "\n")
	_, iid, _ := strings.Cut(line, "|")
	return w.post(ctx, "qc", iid)
}

// post posts a message, under an iid received in this transaction or a new one.
func (w *modelWorker) post(ctx context.Context, queue, iid string) error {
	n := w.number.Add(1)
	k := []string{"a", "b"}[w.random.IntN(2)]
	p := []string{"x", "y"}[w.random.IntN(2)]
	var deps []string
	if iid == "" && w.random.IntN(3) == 0 {
		w.mu.Lock()
		for range min(len(w.committed), 1+w.random.IntN(3)) {
			deps = append(deps, w.committed[w.random.IntN(len(w.committed))])
		}
		w.mu.Unlock()
	}
	args := []any{queue, fmt.Sprintf("n=>%d, k=>%s", n, k), nil, "p=>" + p, nil, nil}
	if len(deps) > 0 {
		args[2] = harness.WaitFor(deps...)
	}
	if w.random.IntN(4) == 0 {
		args[4] = time.Now().UTC().Add(time.Duration(w.random.IntN(100)) * time.Millisecond).Format("2006-01-02 15:04:05.999999")
	}
	if iid != "" {
		args[5] = iid
	}
	iid, err := w.do(ctx, "select mbus4.post($1, $2, $3, $4, $5, null, $6)", args...)
	if err != nil {
		return err
	}
	w.posted = append(w.posted, iid)
	for _, dep := range deps {
		if _, err := w.do(ctx, "insert into dependency values ($1, $2)", iid, dep); err != nil {
			return err
		}
	}
	_, err = w.do(ctx, "insert into posted values ($1::bigint, $2, $3, $4, $5)", n, queue, k, p, iid)
	return err
}
