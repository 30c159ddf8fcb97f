package main

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5/pgconn"

	"mbusproxy/bench/internal/rig"
)

const (
	posters = 2                     // sessions
	rest    = 20 * time.Millisecond // before a consumer looks again where there was nothing
)

// load is one contender.
type load struct {
	name    string
	way     rig.Path
	setUp   string
	post    string                                                            // posts one message
	consume func(ctx context.Context, s *session) (consumed int64, err error) // what is there, or some of it
	upkeep  map[string]time.Duration                                          // statements that run again and again

	posted, consumed atomic.Int64
}

// flow is how many messages came through since the last time.
type flow struct{ posted, consumed int64 }

// take is safe for concurrent use with the load.
func (l *load) take() flow { return flow{posted: l.posted.Swap(0), consumed: l.consumed.Swap(0)} }

func mbusLoad(way rig.Path) *load {
	return &load{
		name: "mbusproxy", way: way,
		setUp: "select mbus4.create_queue('q', 1)",
		post:  "select mbus4.post('q', 'key=>value, other=>1')",
		consume: func(ctx context.Context, s *session) (int64, error) {
			rows, err := s.run(ctx, "select * from mbus4.consumen('q', amt => 100)")
			return int64(len(rows)), err
		},
	}
}

func pgqLoad(way rig.Path) *load {
	return &load{
		name: "PgQ", way: way,
		setUp: `create extension pgq;
			select pgq.create_queue('q');
			select pgq.set_queue_config('q', 'ticker_max_lag', '200 milliseconds');
			select pgq.set_queue_config('q', 'rotation_period', '10 seconds');
			select pgq.register_consumer('q', 'c')`,
		post: "select pgq.insert_event('q', 'type', 'key=>value, other=>1')",
		consume: func(ctx context.Context, s *session) (int64, error) {
			batch, err := s.run(ctx, "select b from pgq.next_batch('q', 'c') b where b is not null")
			if err != nil || len(batch) == 0 {
				return 0, err
			}
			rows, err := s.run(ctx, "select * from pgq.get_batch_events($1)", batch[0][0])
			if err == nil {
				_, err = s.run(ctx, "select pgq.finish_batch($1)", batch[0][0])
			}
			return int64(len(rows)), err
		},
		upkeep: map[string]time.Duration{
			"select pgq.ticker()":                       200 * time.Millisecond,
			"select pgq.maint_rotate_tables_step1('q')": 10 * time.Second,
			"select pgq.maint_rotate_tables_step2()":    10 * time.Second,
		},
	}
}

// session is a connection that prepares each text once.
type session struct {
	conn     *pgconn.PgConn
	prepared map[string]string // name by text
}

func open(ctx context.Context, way rig.Path) (*session, error) {
	conn, err := pgconn.Connect(ctx, way.DSN())
	if err != nil {
		return nil, fmt.Errorf("connecting to %s: %w", way.Name, err)
	}
	return &session{conn: conn, prepared: map[string]string{}}, nil
}

// run runs a text, which is prepared the first time, and returns its rows.
func (s *session) run(ctx context.Context, text string, args ...[]byte) (rows [][][]byte, err error) {
	name, ok := s.prepared[text]
	if !ok {
		name = fmt.Sprintf("s%d", len(s.prepared))
		if _, err := s.conn.Prepare(ctx, name, text, nil); err != nil {
			return nil, fmt.Errorf("preparing %q: %w", text, err)
		}
		s.prepared[text] = name
	}
	r := s.conn.ExecPrepared(ctx, name, args, nil, nil).Read()
	if r.Err != nil {
		return nil, fmt.Errorf("%q: %w", text, r.Err)
	}
	return r.Rows, nil
}

// repeat does something again and again in a session of its own until ctx ends, which is no error.
func repeat(ctx context.Context, way rig.Path, do func(s *session) (pause time.Duration, err error)) error {
	s, err := open(ctx, way)
	if err != nil {
		return err
	}
	defer rig.CloseConn(s.conn)
	for {
		pause, err := do(s)
		if ctx.Err() != nil {
			return nil //nolint:nilerr // that is the end
		}
		if err != nil {
			return err
		}
		if pause > 0 {
			select {
			case <-ctx.Done():
			case <-time.After(pause):
			}
		}
	}
}

// runAll runs loads until ctx ends, which is no error, or one of them fails.
func runAll(parent context.Context, loads ...*load) error {
	ctx, cancel := context.WithCancelCause(parent)
	defer cancel(nil)
	var sessions sync.WaitGroup
	again := func(way rig.Path, do func(s *session) (pause time.Duration, err error)) {
		sessions.Go(func() {
			if err := repeat(ctx, way, do); err != nil {
				cancel(err)
			}
		})
	}
	for _, l := range loads {
		for range posters {
			again(l.way, func(s *session) (time.Duration, error) {
				rows, err := s.run(ctx, l.post)
				l.posted.Add(int64(len(rows)))
				return 0, err
			})
		}
		again(l.way, func(s *session) (time.Duration, error) {
			n, err := l.consume(ctx, s)
			if l.consumed.Add(n); n == 0 {
				return rest, err
			}
			return 0, err
		})
		for text, every := range l.upkeep {
			again(l.way, func(s *session) (time.Duration, error) {
				_, err := s.run(ctx, text)
				return every, err
			})
		}
	}
	sessions.Wait()
	if parent.Err() != nil {
		return nil
	}
	return context.Cause(ctx)
}
