package main

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"time"

	"github.com/jackc/pgx/v5/pgconn"

	"mbusproxy/bench/internal/rig"
)

const (
	seeingName     = "seeing"
	seeingQueues   = 1000
	seeingMessages = 10_000_000
	seeingHeld     = 500 // messages that an open transaction has consumed
	seeingRuns     = 31
	seeingWithin   = 50 * time.Millisecond
)

// seeingQueries are what is asked; a thousand queues have half of the messages, one has the other half.
var seeingQueries = []string{"select * from mbus4.queues", "select * from mbus4.consumers", "select * from mbus4.messages_of('all')"} //nolint:gochecknoglobals // constant

// seen is how long a query took.
type seen struct {
	query string
	first time.Duration   // by a session that has not asked before
	quiet []time.Duration // then, with no transaction open
	held  []time.Duration // with one open that has consumed
}

// seeingResult is what looking into full queues costs.
type seeingResult struct {
	seen []seen
	err  error
}

// seeing fills a database and looks at it through the proxy.
func (b *bench) seeing(ctx context.Context, dir string, r *report) (err error) {
	if !b.wanted(seeingName) {
		return nil
	}
	fmt.Fprintf(b.say, "%-28s", seeingName)
	defer fmt.Fprintln(b.say)
	b.stack, err = rig.Start(ctx, b.tools, rig.Options{Dir: filepath.Join(dir, seeingName), Databases: databases, Connections: 50})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, b.stack.Stop()) }()
	r.seeing = &seeingResult{}
	if r.seeing.err = b.measureSeeing(ctx, r.seeing); r.seeing.err != nil {
		fmt.Fprintf(b.say, " FAILED: %v", r.seeing.err)
		return ctx.Err()
	}
	for _, s := range r.seeing.seen {
		fmt.Fprintf(b.say, "\n  %-40s first %v, median %v, with a transaction open %v", s.query, rig.Tenths(s.first), rig.Tenths(rig.Percentile(s.quiet, 0.5)), rig.Tenths(rig.Percentile(s.held, 0.5)))
	}
	return nil
}

func (b *bench) measureSeeing(ctx context.Context, r *seeingResult) error {
	p := b.stack.Proxy
	if err := fillQueues(ctx, p); err != nil {
		return err
	}
	holder, err := pgconn.Connect(ctx, p.DSN())
	if err != nil {
		return fmt.Errorf("holding messages: %w", err)
	}
	defer rig.CloseConn(holder)
	for _, query := range seeingQueries {
		s := seen{query: query}
		conn, err := pgconn.Connect(ctx, p.DSN())
		if err != nil {
			return fmt.Errorf("looking: %w", err)
		}
		defer rig.CloseConn(conn)
		if _, err := timeQuery(ctx, holder, query); err != nil { // so that the pages are in memory
			return err
		}
		if s.first, err = timeQuery(ctx, conn, query); err != nil {
			return err
		}
		for _, into := range []*[]time.Duration{&s.quiet, &s.held} {
			if into == &s.held {
				if _, err := rig.Query(ctx, holder, fmt.Sprintf("begin; select count(*) from mbus4.consumen('all', amt => %d)", seeingHeld)); err != nil {
					return err
				}
			}
			for range seeingRuns {
				took, err := timeQuery(ctx, conn, query)
				if err != nil {
					return err
				}
				*into = append(*into, took)
			}
			slices.Sort(*into)
		}
		if _, err := rig.Query(ctx, holder, "rollback"); err != nil {
			return err
		}
		r.seen = append(r.seen, s)
	}
	return nil
}

// fillQueues makes the queues with their messages.
func fillQueues(ctx context.Context, p rig.Path) error {
	for _, sql := range []string{
		fmt.Sprintf("select mbus4.create_queue('q' || n, 1) from generate_series(1, %d) n", seeingQueues-1),
		"select mbus4.create_queue('all', 1)",
		// As posts of a moment ago have stored them.
		fmt.Sprintf(`insert into mbus4.message (id, consumer_id, available_at, added, data)
			select w.id, w.consumer, w.at, w.at, 'n=>1'
			from (
				select nextval('mbus4.post_id') as id, clock_timestamp() as at,
				       case when g %% 2 = 0 then (select c.id from mbus4.consumer c where c.qname = 'all')
				            else (array(select c.id from mbus4.consumer c where c.qname ~ '^q[0-9]' order by c.id))[1 + g / 2 %% %d] end as consumer
				from generate_series(1, %d) g
				offset 0
			) w`, seeingQueues-1, seeingMessages),
		"checkpoint",
	} {
		if _, err := rig.Exec(ctx, p.DSN(), sql); err != nil {
			return err
		}
	}
	return nil
}

// timeQuery is how long all rows of a query take to come.
func timeQuery(ctx context.Context, conn *pgconn.PgConn, sql string) (time.Duration, error) {
	began := time.Now()
	if _, err := conn.Exec(ctx, sql).ReadAll(); err != nil {
		return 0, fmt.Errorf("%s: %w", sql, err)
	}
	return time.Since(began), nil
}

func (r *report) seeingTargets() []rig.Target {
	var out []rig.Target
	for i, query := range seeingQueries {
		t := rig.Target{
			What:   fmt.Sprintf("`%s`, %d queues, 10 million messages: first in its session, lowest, median, median with a transaction open", query, seeingQueues),
			Wanted: fmt.Sprintf("at most %v", seeingWithin), Figure: "-", State: "not measured",
		}
		switch {
		case r.seeing == nil:
		case r.seeing.err != nil:
			t.State = "**INVALID**"
		default:
			s := r.seeing.seen[i]
			quiet, held := rig.Percentile(s.quiet, 0.5), rig.Percentile(s.held, 0.5)
			t.Figure, t.State = fmt.Sprintf("%s, %s, %s, %s", rig.Tenths(s.first), rig.Tenths(s.quiet[0]), rig.Tenths(quiet), rig.Tenths(held)), rig.Verdict(max(quiet, held) <= seeingWithin)
		}
		out = append(out, t)
	}
	return out
}
