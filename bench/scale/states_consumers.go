package main

import (
	"context"
	"fmt"

	"mbusproxy/bench/internal/rig"
)

// selecting makes n consumers of own with distinct selectors; text has %d for a number.
func selecting(ctx context.Context, s *site, n int, text string) error {
	for i := range n {
		if err := s.call(ctx, fmt.Sprintf("select mbus4.create_consumer('own', 'c%d', $$ %s $$)", i, fmt.Sprintf(text, i))); err != nil {
			return err
		}
	}
	return nil
}

const (
	equal   = "t.data->'kind' = '%d'"                // a message's row holds the answer as such
	general = "(t.data->'n')::int between 0 and -%d" // takes the whole condition to decide; nothing matches
)

func consumerStates() []*state {
	posts := map[string]string{"post": "more copies", "post, iid": "more copies"}
	asks := map[string]string{"post": "more selectors", "post, iid": "more selectors"}
	triggers := func(ctx context.Context, s *site, n int) error {
		return s.call(ctx, fmt.Sprintf("select mbus4.create_queue('t' || g, 1) from generate_series(1, %d) g", n),
			fmt.Sprintf("select mbus4.create_trigger('own', 't' || g) from generate_series(1, %d) g", n))
	}
	return []*state{
		{
			name: "queues", about: "{n} queues with 20 messages each", full: 10_000, small: 1000,
			build: func(ctx context.Context, s *site, n int) error {
				if err := s.call(ctx, fmt.Sprintf("select mbus4.create_queue('q' || g, 1) from generate_series(1, %d) g", n)); err != nil {
					return err
				}
				return s.sql(ctx, `insert into mbus4.message (id, consumer_id, available_at, added, data)
					select w.id, w.consumer_id, w.at, w.at, 'n=>1'
					from (select nextval('mbus4.post_id') as id, c.id as consumer_id, clock_timestamp() as at
						from mbus4.consumer c, generate_series(1, 20) where c.qname ~ '^q[0-9]' offset 0) w`)
			},
		},
		{
			name: "consumers", about: "{n} consumers on a queue", full: 2000, small: 200, own: queueCalls, work: posts,
			build: func(ctx context.Context, s *site, n int) error {
				return s.call(ctx, fmt.Sprintf("select mbus4.create_consumer('own', 'c' || g) from generate_series(1, %d) g", n))
			},
		},
		{
			name: "selectors", about: "{n} consumers on a queue with distinct selectors, `key = 'constant'`", full: 1000, small: 40, own: queueCalls, work: asks,
			build: func(ctx context.Context, s *site, n int) error { return selecting(ctx, s, n, equal) },
		},
		{
			name: "general selectors", about: "{n} consumers on a queue with distinct selectors of other kinds", full: 1000, small: 20, own: queueCalls, work: asks,
			build: func(ctx context.Context, s *site, n int) error { return selecting(ctx, s, n, general) },
		},
		{
			name: "selectors dropped", about: "{n} consumers with distinct selectors have come and gone", full: 1000, small: 40, own: queueCalls,
			build: func(ctx context.Context, s *site, n int) error {
				if err := selecting(ctx, s, n, general); err != nil {
					return err
				}
				return s.call(ctx, fmt.Sprintf("select mbus4.drop_consumer('own', 'c' || g) from generate_series(0, %d) g", n-1))
			},
		},
		{
			name: "triggers in a chain", about: "{n} triggers in a chain", full: 50, small: 8, own: queueCalls, work: posts,
			build: func(ctx context.Context, s *site, n int) error {
				return s.call(ctx, fmt.Sprintf("select mbus4.create_queue('t' || g, 1) from generate_series(1, %d) g", n),
					fmt.Sprintf("select mbus4.create_trigger(case g when 1 then 'own' else 't' || g - 1 end, 't' || g) from generate_series(1, %d) g", n))
			},
		},
		{name: "triggers", about: "{n} triggers on a queue", full: 200, small: 10, own: queueCalls, work: posts, build: triggers},
		{
			name: "triggers, odd statistics", about: "{n} triggers on a queue; analyzed when there were a hundred times as many consumers of others", full: 200, small: 10, own: queueCalls, work: posts,
			build: func(ctx context.Context, s *site, n int) error {
				err := s.call(ctx, fmt.Sprintf("select mbus4.create_consumer('gate', 'c' || g) from generate_series(1, %d) g", 100*n))
				if err == nil {
					err = s.sql(ctx, "analyze")
				}
				if err == nil {
					err = s.call(ctx, fmt.Sprintf("select mbus4.drop_consumer('gate', 'c' || g) from generate_series(1, %d) g", 100*n))
				}
				if err != nil {
					return err
				}
				return triggers(ctx, s, n)
			},
		},
		{
			name: "temporary queues gone", about: "{n} temporary queues have come and gone, with a message in each", full: 5000, small: 500,
			build: func(ctx context.Context, s *site, n int) error {
				const each = 100
				for left := n; left > 0; left -= each {
					conn, err := s.open(ctx, s.stack.Proxy)
					if err != nil {
						return err
					}
					_, err = rig.Query(ctx, conn, fmt.Sprintf(`create temp table t as select mbus4.create_temporary_queue() as q from generate_series(1, %d);
						select mbus4.post_temp(q, 'n=>1') from t`, min(left, each)))
					rig.CloseConn(conn)
					if err != nil {
						return err
					}
				}
				return nil
			},
		},
	}
}
