package web

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"

	"mbusproxy/engine/refusal"
)

// Bounds of one search. Whoever wants more goes on from where it was given up.
const (
	pageOfMessages = 50
	searchTime     = 2500 * time.Millisecond
	searchRows     = 200_000
	firstBatch     = 500
	largestBatch   = 10_000
	mostInList     = 20_000 // bytes of an hstore that a list shows; clients make them as long as they like
)

// criteria are what a search asks for.
type criteria struct {
	Queue, Consumer, State Text
	Column, Key, Value     Text // of an hstore; Column "": none
	Selector               Text
	after                  place
	place                  int64 // the consumer whose messages are read: itself, or dmq's for dead ones
	consumer               int64
	low                    string // where to begin, by the hint
	condition              string // the selector in SQL; "": none
}

// place is where a search has come to: the last row that it has looked at.
type place struct {
	At string // available_at as text, which may be infinity; "": the beginning
	ID int64
}

// messageRow is a message in a list.
type messageRow struct {
	IID, State Text
	Age        float64 // since it became available, or was posted; less than 0: not known
	Until      Text
	Detail     Text
	Data       []pair
	place      place
}

// pair is one key of an hstore.
type pair struct {
	Key, Value Text
	Null       bool
}

// found is what a search has come to.
type found struct {
	Messages []messageRow
	Read     int
	GaveUp   bool  // there may be more
	Next     place // from where to go on; empty: the end was reached
	Took     time.Duration
}

// states are those that can be asked for.
var states = []Text{"ready", "delayed", "waiting", "leased", "held", "expired", "dead"}

// resolve finds the consumer, and where its messages begin.
func (k *criteria) resolve(c *call) error {
	err := c.tx.QueryRow(c.ctx, `select k.id, case when $3 then 1 else k.id end,
	(pg_catalog.to_timestamp(coalesce(pg_catalog.pg_sequence_last_value(('mbus4.hint_' operator(pg_catalog.||) case when $3 then '1' else coalesce(k.hint, k.id operator(pg_catalog.%) 128)::text end)::regclass), 0) operator(pg_catalog./) 1000000.0))::text
from mbus4.consumer k
where k.qname operator(pg_catalog.=) pg_catalog.lower($1) and k.name operator(pg_catalog.=) pg_catalog.lower($2) and k.target is null`,
		k.Queue.Raw(), k.Consumer.Raw(), k.State == "dead").Scan(&k.consumer, &k.place, &k.low)
	if errors.Is(err, pgx.ErrNoRows) {
		return &problem{http.StatusNotFound, "Consumer not found", Text(fmt.Sprintf("No queue %q of this database has a consumer %q.", k.Queue.Raw(), k.Consumer.Raw())), "The overview lists the queues, and each queue's page its consumers."}
	}
	if err != nil {
		return fmt.Errorf("asking for the consumer: %w", err)
	}
	if strings.TrimSpace(k.Selector.Raw()) == "" {
		return nil
	}
	if k.condition, err = c.page.cfg.Condition(c.ctx, c.login.Database, k.Selector.Raw()); err != nil {
		var refused *refusal.Error
		if errors.As(err, &refused) {
			return &problem{http.StatusUnprocessableEntity, "This is no selector", Text(refused.Message), Text(refused.Hint)}
		}
		return fmt.Errorf("reading the selector: %w", err)
	}
	return nil
}

// batchSQL reads some rows of a consumer along the primary key, and gives those that are asked for
// and the last one. The placeholders between ‹ and › are filled in with texts of ours: for a selector, messageSQL and the condition
// that was made of it.
const batchSQL = `with here as materialized (
	select pg_catalog.pg_snapshot_xmax(pg_catalog.pg_current_snapshot())::text::bigint as base, pg_catalog.clock_timestamp() as now,
		array(select l.transactionid from pg_catalog.pg_locks l where l.locktype operator(pg_catalog.=) 'transactionid' and l.mode operator(pg_catalog.=) 'ExclusiveLock' and l.granted) as open
), looked as materialized (
	select m.*, mbus4.state_of(m.consumer_id, m.available_at, m.delayed_until, m.expires, m.headers, m.held, m.now) as state, pg_catalog.row_number() over (order by m.available_at, m.id) as n
	from (
		select m.*, mbus4.is_open(m.xmax, h.base, h.open) as held, h.now
		from here h
		cross join lateral (
			select m.xmax, m.id, m.consumer_id, m.available_at, m.added, m.iid, m.delayed_until, m.expires, m.received, m.headers, m.properties, m.data
			from mbus4.message m
			where m.consumer_id operator(pg_catalog.=) $1 and (m.available_at, m.id) operator(pg_catalog.>) ($2::timestamptz, $3::bigint) and m.available_at operator(pg_catalog.<=) $4::timestamptz
			order by m.available_at, m.id
			limit $5
		) m
	) m
), matching as (
	select l.n
	from looked l
	‹message›
	where ($7 operator(pg_catalog.=) '' or case when l.state operator(pg_catalog.=) 'ready' and l.consumer_id operator(pg_catalog.=) 1 then 'dead' else l.state end operator(pg_catalog.=) $7)
		and ($8 operator(pg_catalog.=) '' or l.consumer_id operator(pg_catalog.=) $9
			or (l.headers operator(mbus4_hstore.->) 'destination'::text) operator(pg_catalog.=) $6 and coalesce(l.headers operator(mbus4_hstore.->) 'dmq.consumer'::text, 'default') operator(pg_catalog.=) $8)
		and ($10 operator(pg_catalog.=) ''
			or case $10 when 'data' then l.data when 'properties' then l.properties when 'headers' then l.headers end operator(mbus4_hstore.->) $11::text operator(pg_catalog.=) $12
			or $12 operator(pg_catalog.=) '' and mbus4_hstore.exist(case $10 when 'data' then l.data when 'properties' then l.properties when 'headers' then l.headers end, $11::text))
		and ‹condition›
	order by l.n
	limit $13
)
select x.n is not null, coalesce(mbus4.iid_of(l.iid, case when l.consumer_id operator(pg_catalog.=) 1 then 'dmq' else $6 end, case when pg_catalog.isfinite(l.available_at) or l.iid is not null then l.available_at end, l.id), ''),
	case when l.state operator(pg_catalog.=) 'ready' and l.consumer_id operator(pg_catalog.=) 1 then 'dead' else l.state end,
	extract(epoch from l.now operator(pg_catalog.-) (select case when pg_catalog.isfinite(t.at) then t.at else l.now end from (select case when l.state in ('ready', 'dead') then l.available_at else l.added end as at) t))::float8,
	coalesce(case when l.state in ('delayed', 'leased') then l.available_at else l.expires end::text, ''),
	coalesce(pg_catalog."left"(case when l.consumer_id operator(pg_catalog.=) 1 then l.headers operator(mbus4_hstore.->) 'dmq.error'::text when l.state operator(pg_catalog.=) 'leased' then 'attempt ' operator(pg_catalog.||) (l.headers operator(mbus4_hstore.->) 'retry.attempt'::text) end, 300), ''),
	case when x.n is null then '{}' when pg_catalog.pg_column_size(l.data) operator(pg_catalog.>) $14 or pg_catalog.octet_length(l.data::text) operator(pg_catalog.>) $14 then '{"...": "too long to be shown in a list"}' else coalesce(mbus4_hstore.hstore_to_json(l.data)::text, '{}') end,
	l.available_at::text, l.id, max(l.n) over ()
from looked l
left join matching x on x.n operator(pg_catalog.=) l.n
where x.n is not null or l.n operator(pg_catalog.=) (select max(o.n) from looked o)
order by l.n`

// messageSQL is a message as selectors see it. To make it takes long where its texts are long.
const messageSQL = `cross join lateral mbus4.posted_row(l.id, $6, l.added, mbus4.iid_of(l.iid, $6, l.available_at, l.id), l.delayed_until, l.expires, l.headers, l.properties, l.data) t`

// settle leaves the planner no choice but the primary key in its order, whatever statistics say.
func settle(ctx context.Context, tx pgx.Tx) error {
	_, err := tx.Exec(ctx, `select pg_catalog.set_config(s.name, 'off', true) from (values ('enable_seqscan'), ('enable_bitmapscan'), ('jit')) s (name)`)
	return err
}

// span is between which times messages of a state lie.
func (k *criteria) span() (from, to string) {
	from, to = k.low, "infinity"
	switch k.State {
	case "delayed", "leased":
		from, to = "now", "294276-12-31 23:59:59.999999Z"
	case "waiting":
		from = "294276-12-31 23:59:59.999999Z"
	case "ready":
		to = "now"
	}
	return from, to
}

// search reads until a page is full, the time is over, or nothing is left.
func (k *criteria) search(c *call) (*found, error) {
	if err := settle(c.ctx, c.tx); err != nil {
		return nil, fmt.Errorf("preparing the search: %w", err)
	}
	message, condition := "", "true"
	if k.condition != "" {
		message, condition = messageSQL, "("+k.condition+") operator(pg_catalog.=) 1"
	}
	sql := strings.NewReplacer("‹message›", message, "‹condition›", condition).Replace(batchSQL)
	from, to := k.span()
	at := k.after
	if at.At == "" {
		at = place{from, -1 << 62}
	}
	f := &found{}
	begin := time.Now()
	for size := firstBatch; ; size = min(2*size, largestBatch) {
		seen, last, err := k.batch(c, sql, at, to, size, f)
		if err != nil {
			return nil, err
		}
		f.Took = time.Since(begin)
		f.Read += seen
		if len(f.Messages) >= pageOfMessages {
			f.Next = f.Messages[len(f.Messages)-1].place
			return f, nil
		}
		if seen < size {
			return f, nil
		}
		at = last
		if f.Took > searchTime || f.Read >= searchRows || stopped(c.stop) {
			f.GaveUp, f.Next = true, at
			return f, nil
		}
	}
}

func stopped(c <-chan struct{}) bool {
	select {
	case <-c:
		return true
	default:
		return false
	}
}

// batch looks at size rows behind a place.
func (k *criteria) batch(c *call, sql string, at place, to string, size int, f *found) (seen int, last place, err error) {
	own := ""
	if k.place != k.consumer {
		own = k.Consumer.Raw()
	}
	rows, err := c.tx.Query(c.ctx, sql, k.place, at.At, at.ID, to, size, strings.ToLower(k.Queue.Raw()), k.State.Raw(), own, k.consumer,
		k.Column.Raw(), k.Key.Raw(), k.Value.Raw(), pageOfMessages-len(f.Messages), mostInList)
	if err != nil {
		return 0, at, fmt.Errorf("searching: %w", err)
	}
	var matches bool
	var m messageRow
	var data string
	_, err = pgx.ForEachRow(rows, []any{&matches, &m.IID, &m.State, &m.Age, &m.Until, &m.Detail, &data, &m.place.At, &m.place.ID, &seen}, func() error {
		last = m.place
		if matches {
			row := m
			row.Data = pairs(data)
			f.Messages = append(f.Messages, row)
		}
		return nil
	})
	if err != nil {
		return 0, at, fmt.Errorf("searching: %w", err)
	}
	return seen, last, nil
}

// pairs are the keys of an hstore that was made JSON, in order.
func pairs(object string) []pair {
	var m map[string]*string
	if err := json.Unmarshal([]byte(object), &m); err != nil {
		return []pair{{Key: "(cannot be shown)", Value: Text(err.Error())}}
	}
	out := make([]pair, 0, len(m))
	for key, v := range m {
		p := pair{Key: Text(key), Null: v == nil}
		if v != nil {
			p.Value = Text(*v)
		}
		out = append(out, p)
	}
	slices.SortFunc(out, func(a, b pair) int { return strings.Compare(string(a.Key), string(b.Key)) })
	return out
}
