package bench

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5"

	"mbusproxy/internal/cli"
)

// Prefix is what the names of all queues and schemas begin with that this package makes.
const Prefix = "mbusproxy_bench_"

const (
	cleanUpTime = time.Minute
	drainTime   = 10 * time.Second // for what a phase leaves, before it is removed
	sampleTime  = time.Second
)

// bench is one run.
type bench struct {
	Config
	queue, schema string
	recorder      *recorder
	control       *pgx.Conn
	samples       []sample
	sessions      sync.WaitGroup
	fail          context.CancelCauseFunc // ends the run
}

// Run runs all phases and removes what it has made. Where ctx ends it returns the error of that,
// after removing. note is told what the user should know.
func Run(ctx context.Context, cfg Config, note func(string)) (report *Report, err error) {
	token := make([]byte, 4)
	_, _ = rand.Read(token) // it does not fail
	b := &bench{Config: cfg, queue: Prefix + hex.EncodeToString(token)}
	b.schema = b.queue
	parent := ctx
	ctx, b.fail = context.WithCancelCause(ctx)
	defer b.fail(nil)
	if b.control, err = connect(ctx, cfg.DSN); err != nil {
		return nil, err
	}
	defer func() { closeConn(b.control) }()
	b.tellLeftOvers(ctx, note)
	defer func() {
		b.fail(nil)
		b.sessions.Wait()
		if bad := b.cleanUp(); bad != nil {
			note(fmt.Sprintf("not everything could be removed (%v): select mbus4.drop_queue('%s'); drop schema %s cascade", bad, b.queue, b.schema))
			err = errors.Join(err, bad)
		}
	}()
	if err := b.setUp(ctx); err != nil {
		return nil, err
	}
	if err := b.run(ctx); err != nil {
		if cause := context.Cause(ctx); parent.Err() == nil && cause != nil {
			err = cause
		}
		return nil, cli.Told(err)
	}
	return &Report{Config: cfg, samples: b.samples}, nil
}

func connect(ctx context.Context, dsn string) (*pgx.Conn, error) {
	return cli.Open(ctx, dsn, "mbusproxy bench")
}

// closeConn waits for no farewell that does not come.
func closeConn(conn *pgx.Conn) {
	ctx, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	_ = conn.Close(ctx)
}

// setUp makes the queue, and a schema with a table for those who scan.
func (b *bench) setUp(ctx context.Context) error {
	for _, sql := range []string{
		"select mbus4.create_queue('" + b.queue + "', 1)",
		"create schema " + b.schema,
		fmt.Sprintf("create table %s.scanned as select g as id, pg_catalog.repeat('x', 100) as pad from pg_catalog.generate_series(1, %d) g", b.schema, scanRows),
	} {
		if _, err := b.control.Exec(ctx, sql); err != nil {
			return cli.Told(err)
		}
	}
	return nil
}

// tellLeftOvers says what runs have left that could not clean up.
func (b *bench) tellLeftOvers(ctx context.Context, note func(string)) {
	rows, err := b.control.Query(ctx, "select queue::pg_catalog.text from mbus4.queues where pg_catalog.starts_with(queue, '"+Prefix+"') order by queue")
	if err != nil {
		return // setUp says what is wrong
	}
	names, err := pgx.CollectRows(rows, pgx.RowTo[string])
	if err != nil {
		return
	}
	for _, name := range names {
		note(fmt.Sprintf("another run has left, or still uses, queue and schema %s", cli.Visible(name)))
	}
}

// cleanUp removes what setUp has made, in a session of its own: that of the run may have ended with it.
func (b *bench) cleanUp() error {
	ctx, cancel := context.WithTimeout(context.Background(), cleanUpTime)
	defer cancel()
	conn, err := connect(ctx, b.DSN)
	if err != nil {
		return err
	}
	defer closeConn(conn)
	var there bool
	if err := conn.QueryRow(ctx, "select exists (select from mbus4.queues where queue operator(pg_catalog.=) $1)", b.queue).Scan(&there); err != nil {
		return cli.Told(err)
	}
	statements := []string{"drop schema if exists " + b.schema + " cascade"}
	if there {
		statements = append(statements, "select mbus4.purge_queue('"+b.queue+"')", "select mbus4.drop_queue('"+b.queue+"')")
	}
	for _, sql := range statements {
		if _, failed := conn.Exec(ctx, sql); failed != nil {
			err = errors.Join(err, cli.Told(failed))
		}
	}
	return err
}

// start runs something in a session of its own until ctx ends. An error ends the run.
func (b *bench) start(ctx context.Context, into *sync.WaitGroup, do func(context.Context, *pgx.Conn) error) error {
	conn, err := connect(ctx, b.DSN)
	if err != nil {
		return err
	}
	b.sessions.Add(1)
	into.Add(1)
	go func() {
		defer b.sessions.Done()
		defer into.Done()
		defer closeConn(conn)
		if err := do(ctx, conn); err != nil {
			b.fail(err)
		}
	}()
	return nil
}

func (b *bench) run(ctx context.Context) error {
	b.recorder = &recorder{began: time.Now()}
	var consumers sync.WaitGroup
	for range b.Consumers {
		if err := b.start(ctx, &consumers, b.consume); err != nil {
			return err
		}
	}
	for i, p := range phases() {
		if !p.goesOn {
			if err := b.drain(ctx); err != nil {
				return err
			}
		}
		if err := b.phase(ctx, i, p); err != nil {
			return err
		}
	}
	return nil
}

// phase runs one phase, and takes a sample each second.
func (b *bench) phase(parent context.Context, index int, p phase) error {
	ctx, end := context.WithCancel(parent)
	var sessions sync.WaitGroup
	defer sessions.Wait()
	defer end()
	if p.held {
		if err := b.start(ctx, &sessions, b.hold); err != nil {
			return err
		}
	}
	for range p.scanners {
		if err := b.start(ctx, &sessions, b.scanAgain); err != nil {
			return err
		}
	}
	tickets := new(atomic.Int64)
	var ready sync.WaitGroup
	ready.Add(1)
	var began time.Duration
	for range b.Posters {
		err := b.start(ctx, &sessions, func(ctx context.Context, conn *pgx.Conn) error {
			ready.Wait()
			return b.post(parent, ctx, conn, p.load*b.Rate, began, tickets)
		})
		if err != nil {
			ready.Done()
			return err
		}
	}
	dead, gone, err := b.rows(ctx)
	if err != nil {
		ready.Done()
		return err
	}
	_, last := b.recorder.cut(mark{}, dead, gone)
	began = time.Since(b.recorder.began)
	ready.Done()
	for rest := b.Duration; rest > 0; rest -= sampleTime {
		if !pause(ctx, min(rest, sampleTime)) {
			return context.Cause(ctx)
		}
		if dead, gone, err = b.rows(ctx); err != nil {
			return err
		}
		var s sample
		s, last = b.recorder.cut(last, dead, gone)
		s.phase = index
		b.samples = append(b.samples, s)
		if b.Progress != nil {
			b.Progress.Add(1)
		}
	}
	return nil
}

// rows are how many rows of the table of messages are dead, and how many were deleted or updated
// since the server began to count.
func (b *bench) rows(ctx context.Context) (dead, gone int64, err error) {
	err = b.control.QueryRow(ctx, `select coalesce(pg_catalog.sum(n_dead_tup), 0)::pg_catalog.int8, coalesce(pg_catalog.sum(n_tup_del operator(pg_catalog.+) n_tup_upd), 0)::pg_catalog.int8
from pg_catalog.pg_stat_all_tables where schemaname operator(pg_catalog.=) 'mbus4' and relname operator(pg_catalog.=) 'message'`).Scan(&dead, &gone)
	return dead, gone, err
}

// drain waits until the queue is empty; what is left after a time is removed.
func (b *bench) drain(ctx context.Context) error {
	for began := time.Now(); b.recorder.depth() > 0; {
		if time.Since(began) > drainTime {
			var n int64
			if err := b.control.QueryRow(ctx, "select mbus4.purge_queue($1)", b.queue).Scan(&n); err != nil {
				return err
			}
			b.recorder.removed.Add(n)
			return nil
		}
		if !pause(ctx, 10*time.Millisecond) {
			return context.Cause(ctx)
		}
	}
	return nil
}
