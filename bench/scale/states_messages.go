package main

import (
	"context"
	"fmt"
)

// consumerOf is the id of a queue's consumer, as SQL.
func consumerOf(queue, name string) string {
	return fmt.Sprintf("(select id from mbus4.consumer where qname = '%s' and name = '%s')", queue, name)
}

// one is the data of a message that says nothing.
const one = "hstore('n', '1')"

// messages is SQL that posts n messages to a consumer, as posts of a moment ago have stored them.
// data is SQL over g, the message's number.
func messages(consumer string, n int, data string) string {
	return fmt.Sprintf(`insert into mbus4.message (id, consumer_id, available_at, added, data)
		select w.id, %s, w.at, w.at, w.data
		from (select nextval('mbus4.post_id') as id, clock_timestamp() as at, %s as data from generate_series(1, %d) g offset 0) w`, consumer, data, n)
}

// named is messages with iids that the poster chose, SQL over g.
func named(consumer string, n int, iid string) string {
	return fmt.Sprintf(`insert into mbus4.message (id, consumer_id, available_at, added, iid, data)
		select w.id, %s, w.at, w.at, w.iid, 'n=>1'
		from (select nextval('mbus4.post_id') as id, clock_timestamp() as at, %s as iid from generate_series(1, %d) g offset 0) w`, consumer, iid, n)
}

// delayed is messages that are due in an hour and later.
func delayed(consumer string, n int) string {
	return fmt.Sprintf(`insert into mbus4.message (id, consumer_id, available_at, added, delayed_until, data)
		select w.id, %s, w.due, w.at, w.due, 'n=>1'
		from (select nextval('mbus4.post_id') as id, clock_timestamp() as at, now() + interval '1 hour' + g * interval '1 millisecond' as due
			from generate_series(1, %d) g offset 0) w`, consumer, n)
}

// parked is messages of which each waits for one other that is there. iid and dep are SQL over g; a
// null iid is given as the post does.
func parked(queue string, n int, iid, dep string) string {
	return fmt.Sprintf(`with m as (
			insert into mbus4.message (id, consumer_id, available_at, added, iid, headers, data, after)
			select w.id, %[1]s, 'infinity', w.at, coalesce(w.iid, '%[2]s.' || current_database() || '.' || w.id), hstore('consume_after', '{' || w.dep || '}'), 'n=>1', array[w.dep]
			from (select nextval('mbus4.post_id') as id, clock_timestamp() as at, %[4]s as iid, %[5]s as dep from generate_series(1, %[3]d) g offset 0) w
			returning id, consumer_id, after)
		insert into mbus4.waiting (dep, consumer_id, id) select m.after[1], m.consumer_id, m.id from m`,
		consumerOf(queue, "default"), queue, n, iid, dep)
}

func waitingStates() []*state {
	return []*state{
		{
			name: "waiting for one", about: "{n} messages wait for one iid", full: 200_000, small: 20_000, own: queueCalls,
			build: func(ctx context.Context, s *site, n int) error {
				return s.sql(ctx, parked(own, n, "null::text", "'gate'"))
			},
		},
		{
			name: "waiting for many", about: "{n} messages wait for as many iids", full: 1_000_000, small: 20_000, own: queueCalls,
			build: func(ctx context.Context, s *site, n int) error {
				return s.sql(ctx, named(consumerOf("gate", "default"), n, "'g' || g"), parked(own, n, "null::text", "'g' || g"))
			},
		},
		{
			name: "chain", about: "a chain of {n} messages by consume_after", full: 50_000, small: 300, own: queueCalls,
			build: func(ctx context.Context, s *site, n int) error {
				return s.sql(ctx, parked(own, n, "'c' || g", "case g when 1 then 'gate' else 'c' || g - 1 end"))
			},
		},
	}
}

func messageStates() []*state {
	backlog := func(data string) func(ctx context.Context, s *site, n int) error {
		return func(ctx context.Context, s *site, n int) error {
			return s.sql(ctx, messages(consumerOf(own, "default"), n, data))
		}
	}
	slow := func(ctx context.Context, s *site, n int) error {
		if err := s.call(ctx, "select mbus4.create_consumer('own', 'slow')"); err != nil {
			return err
		}
		return s.sql(ctx, messages(consumerOf(own, "slow"), n, "hstore('n', g::text)"))
	}
	return []*state{
		{
			name: "delayed", about: "{n} messages that are due later", full: 10_000_000, small: 30_000, own: queueCalls,
			build: func(ctx context.Context, s *site, n int) error {
				return s.sql(ctx, delayed(consumerOf(own, "default"), n))
			},
		},
		{name: "backlog", about: "a backlog of {n} messages", full: 3_000_000, small: 30_000, own: queueCalls, build: backlog("hstore('n', g::text)")},
		{
			name: "slow consumer", about: "a consumer with a backlog of {n} beside a fast one", full: 3_000_000, small: 30_000, build: slow,
			own: queueCalls, work: map[string]string{"post": "two copies", "post, iid": "two copies"},
		},
		{
			name: "slow consumer dropped", about: "a consumer with a backlog of {n} was dropped a moment ago", full: 3_000_000, small: 30_000, own: queueCalls,
			build: func(ctx context.Context, s *site, n int) error {
				if err := slow(ctx, s, n); err != nil {
					return err
				}
				return s.call(ctx, "select mbus4.drop_consumer('own', 'slow')")
			},
		},
		{
			name: "dmq", about: "{n} messages in dmq", full: 1_000_000, small: 30_000,
			build: func(ctx context.Context, s *site, n int) error {
				return s.sql(ctx, messages("1", n, "hstore('n', g::text)"))
			},
		},
		{
			name: "payloads", about: "{n} messages of 100 kB", full: 10_000, small: 300, own: queueCalls,
			work: map[string]string{"consume": "100 kB to read", "dyn_consume": "100 kB to read"},
			// Of digests, so that the server cannot compress them to nothing.
			build: backlog("hstore('n', (select string_agg(md5(g::text || i), '') from generate_series(1, 3125) i))"),
		},
	}
}
