package main

import (
	"context"
	"errors"
	"fmt"
)

// passed is SQL that leaves what n messages leave that were posted to a queue and consumed.
func passed(queue string, n int) []string {
	consumer := consumerOf(queue, "default")
	return []string{messages(consumer, n, one), "delete from mbus4.message where consumer_id = " + consumer}
}

func heldStates() []*state {
	return []*state{
		{
			name: "snapshot", about: "a snapshot is held, since when {n} messages, as many of the work queue and tasks of a semaphore have come and gone", full: 400_000, small: 20_000, own: queueCalls,
			build: func(ctx context.Context, s *site, n int) error {
				if err := s.holdSnapshot(ctx); err != nil {
					return err
				}
				texts := append(passed(own, n), passed(other, n)...)
				err := s.sql(ctx, append(texts,
					fmt.Sprintf("insert into mbus4.work_queue (payload) select '{}' from generate_series(1, %d)", n), "delete from mbus4.work_queue",
					fmt.Sprintf("insert into mbus4.semaphore_task (semaphore_id, task_id, priority) select s.id, -g, 1 from mbus4.semaphore s, generate_series(1, %d) g", n),
					"delete from mbus4.semaphore_task")...)
				return errors.Join(err, s.hintsRisen(ctx, own, other))
			},
		},
		{
			name: "poster", about: "a transaction stays open that has posted, since when {n} messages have come and gone in each queue", full: 200_000, small: 20_000, own: queueCalls,
			build: func(ctx context.Context, s *site, n int) error {
				if err := s.hold(ctx, "begin", "select mbus4.post('own', 'n=>1')"); err != nil {
					return err
				}
				err := s.sql(ctx, append(passed(own, n), passed(other, n)...)...)
				return errors.Join(err, s.hintsRisen(ctx, other))
			},
		},
		{
			name: "lagging consumer", about: "a snapshot is held, and a consumer with the hint of `other` does not consume, since when {n} messages have come and gone in `other`", full: 200_000, small: 20_000,
			build: func(ctx context.Context, s *site, n int) error {
				err := s.call(ctx, "select mbus4.create_queue('lag' || g, 1) from generate_series(1, 128) g",
					"select mbus4.post(c.qname, 'n=>1') from mbus4.consumer c, mbus4.consumer o where c.qname ~ '^lag' and o.qname = 'other' and c.id % 128 = o.id % 128")
				if err != nil {
					return err
				}
				if err := s.holdSnapshot(ctx); err != nil {
					return err
				}
				err = s.sql(ctx, passed(other, n)...)
				return errors.Join(err, s.hintsRisen(ctx, other))
			},
		},
	}
}

func otherStates() []*state {
	return []*state{
		{
			name: "work queue", about: "{n} messages of the work queue that are claimed, and as many that are not due", full: 1_000_000, small: 20_000,
			build: func(ctx context.Context, s *site, n int) error {
				return s.sql(ctx, fmt.Sprintf("insert into mbus4.work_queue (payload, process_id) select '{}', 7 from generate_series(1, %d)", n),
					fmt.Sprintf("insert into mbus4.work_queue (payload, next_attempt_at, attempts) select '{}', now() + interval '1 hour', 1 from generate_series(1, %d)", n))
			},
		},
		{
			name: "semaphore", about: "{n} tasks wait in a semaphore", full: 1_000_000, small: 20_000,
			build: func(ctx context.Context, s *site, n int) error {
				if err := s.call(ctx, "select mbus4.semaphore_get_or_create('full')", "select mbus4.semaphore_update('full', 0, 0)"); err != nil {
					return err
				}
				return s.sql(ctx, fmt.Sprintf("insert into mbus4.semaphore_task (semaphore_id, task_id, priority) select s.id, g, 1 from mbus4.semaphore s, generate_series(1, %d) g where s.key = 'full'", n))
			},
		},
	}
}
