package bulk

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgtype"
)

// Querier is a session through the proxy, or a transaction of one.
type Querier interface {
	Exec(ctx context.Context, sql string, args ...any) (pgconn.CommandTag, error)
	Query(ctx context.Context, sql string, args ...any) (pgx.Rows, error)
	QueryRow(ctx context.Context, sql string, args ...any) pgx.Row
	Begin(ctx context.Context) (pgx.Tx, error)
}

// Selection says which dead messages are meant. What is left empty selects nothing.
type Selection struct {
	Queue    string // where they came from
	Consumer string // for whom they were
	Selector string // in the language of docs/selectors.md
	Since    time.Time
	Until    time.Time // the latest is now
}

// Place is where a dead message stands in the order in which they died.
type Place struct {
	At time.Time
	ID int64
}

// Message is a dead message.
type Message struct {
	Place      Place
	IID        string
	Queue      string // where it came from, "": it was posted to dmq
	Consumer   string // "": not known
	Died       time.Time
	Error      string
	Attempts   int // 0: not known
	Expires    time.Time
	Headers    map[string]*string
	Properties map[string]*string
	Data       map[string]*string
}

// Count is how many messages a selection selects.
type Count struct {
	Messages int64
	Looked   int64 // how many were looked at
	Exact    bool  // false: there was no time for all of them, so it is at least so many
}

// Preview is what an operation would deal with: how many, and the first few.
type Preview struct {
	Count   Count
	Samples []Message
}

// Check has the proxy check the selector, and make what the schema needs to use it. A selector that
// is none is an error of the server's (SQLSTATE 42601 and others). It must not run in a transaction
// that took its snapshot before.
func Check(ctx context.Context, db Querier, selector string) error {
	if strings.TrimSpace(selector) == "" {
		return nil
	}
	// Not called: redrive is the call that takes a selector and no more rights than to consume. The proxy checks it before.
	if _, err := db.Exec(ctx, `select case when false then mbus4.redrive(null, $1::text, 0) end`, selector); err != nil {
		return fmt.Errorf("checking the selector: %w", err)
	}
	return nil
}

// listSQL reads those of deadSQL that are selected, $7 at most. It shortens what clients may make as long as they like; $8 as most of List.
// What the table has of a text is looked at before the text: to read one of megabytes takes the server long.
var listSQL = fmt.Sprintf(`
select m.available_at, m.id, mbus4.iid_of(m.iid, 'dmq', m.available_at, m.id), case when $8::int = 0 then o.values[1] else "left"(o.values[1], $8) end,
       case when $8 = 0 then o.values[2] else "left"(o.values[2], $8) end, m.available_at,
       case when $8 = 0 then o.values[3] else "left"(o.values[3], $8) end, case when o.values[4] ~ '^[0-9]{1,8}$' then o.values[4] end::int, m.expires,
       %[2]s, %[3]s, %[4]s
from (select m.* from %[1]s m where m.selected limit $7) m
cross join lateral (
	select m.headers operator(mbus4_hstore.->) array['destination', 'dmq.consumer', 'dmq.error', 'retry.attempt'] as values
	offset 0
) o`, "%s", shownSQL("m.headers", "mbus4.headers_of('dmq', m.added, m.headers)"), shownSQL("m.properties", "m.properties"), shownSQL("m.data", "m.data"))

// shownSQL is an hstore of listSQL as text: stored is what the table has of it, whole all of it.
func shownSQL(stored, whole string) string {
	const tooLong = `'"..."=>"too long to be shown here"'`
	return fmt.Sprintf(`case when $8 <> 0 and pg_column_size(%s) > $8 then %s else (
		select case when $8 <> 0 and octet_length(x.shown) > $8 then %s else x.shown end from (select (%s)::text as shown offset 0) x) end`, stored, tooLong, tooLong, whole)
}

// countSQL counts what deadSQL reads, and says how far that came.
const countSQL = `
with looked as materialized (
	select m.available_at, m.id, m.selected from %s m
)
select (select count(*) from looked), (select count(*) from looked l where l.selected), l.available_at, l.id
from looked l
order by l.available_at desc, l.id desc
limit 1`

// List gives dead messages behind a place, at most so many, in the order in which they died. next
// is where to go on; nil: there are no more. It looks at ten thousand messages at most, so it
// may give fewer messages than asked for, or none, and more is known by next only. most is how many
// bytes of headers, properties, data, names and the error are wanted of each: of longer texts the
// beginning is given, in place of a longer hstore one that says so; 0: all.
func List(ctx context.Context, db Querier, s Selection, after *Place, amount, most int) (messages []Message, next *Place, err error) {
	if err := Check(ctx, db, s.Selector); err != nil {
		return nil, nil, err
	}
	err = within(ctx, db, func(tx pgx.Tx) error {
		messages, next, err = list(ctx, tx, s, after, amount, most)
		return err
	})
	if err != nil {
		return nil, nil, fmt.Errorf("listing dead messages: %w", err)
	}
	return messages, next, nil
}

func list(ctx context.Context, tx pgx.Tx, s Selection, after *Place, amount, most int) (messages []Message, next *Place, err error) {
	looked, err := dead(ctx, tx, s.Selector)
	if err != nil {
		return nil, nil, err
	}
	from, err := s.start(ctx, tx, after)
	if err != nil {
		return nil, nil, err
	}
	rows, err := tx.Query(ctx, fmt.Sprintf(listSQL, looked), append(s.arguments(from, mostLooked), amount, most)...)
	if err != nil {
		return nil, nil, err
	}
	if messages, err = pgx.CollectRows(rows, scanMessage); err != nil {
		return nil, nil, err
	}
	if len(messages) == amount {
		if amount > 0 {
			next = &messages[amount-1].Place
		}
		return messages, next, nil
	}
	// Where it gave up, if it did.
	plain, _ := dead(ctx, tx, "")
	var to position
	err = tx.QueryRow(ctx, fmt.Sprintf(`select m.available_at, m.id from %s m offset $3 - 1`, plain), s.arguments(from, mostLooked)...).Scan(&to.at, &to.id)
	if errors.Is(err, pgx.ErrNoRows) {
		return messages, nil, nil
	}
	return messages, &Place{to.at.Time, to.id}, err
}

// Look counts what a selection selects, for so long at most, and gives the first few; most as List has it.
func Look(ctx context.Context, db Querier, s Selection, samples, most int, limit time.Duration) (Preview, error) {
	var p Preview
	began := time.Now()
	err := Check(ctx, db, s.Selector)
	if err != nil {
		return p, err
	}
	if samples > 0 {
		var next *Place
		for {
			var more []Message
			more, next, err = List(ctx, db, s, next, samples-len(p.Samples), most)
			if err != nil {
				return p, err
			}
			p.Samples = append(p.Samples, more...)
			if next == nil || len(p.Samples) >= samples || time.Since(began) >= limit {
				break
			}
		}
	}
	err = within(ctx, db, func(tx pgx.Tx) error { return p.Count.read(ctx, tx, s, began.Add(limit)) })
	if err != nil {
		return p, fmt.Errorf("counting dead messages: %w", err)
	}
	return p, nil
}

// read counts, ten thousand messages at a time, until it is late.
func (c *Count) read(ctx context.Context, tx pgx.Tx, s Selection, late time.Time) error {
	looked, err := dead(ctx, tx, s.Selector)
	if err != nil {
		return err
	}
	from, err := s.start(ctx, tx, nil)
	if err != nil {
		return err
	}
	for {
		var n, selected int64
		err := tx.QueryRow(ctx, fmt.Sprintf(countSQL, looked), s.arguments(from, mostLooked)...).Scan(&n, &selected, &from.at, &from.id)
		if err != nil && !errors.Is(err, pgx.ErrNoRows) {
			return err
		}
		c.Looked, c.Messages = c.Looked+n, c.Messages+selected
		if c.Exact = n < mostLooked; c.Exact || time.Now().After(late) {
			return nil
		}
	}
}

// position is a place as the server has it, which may be infinite.
type position struct {
	at pgtype.Timestamptz
	id int64
}

// start is where to begin to look: behind a place, or where the first of the selection may stand.
func (s Selection) start(ctx context.Context, tx pgx.Tx, after *Place) (p position, err error) {
	if after != nil {
		return position{pgtype.Timestamptz{Time: after.At, Valid: true}, after.ID}, nil
	}
	p.id = -1
	return p, tx.QueryRow(ctx, `select mbus4.first_dead($1)`, timeOrNull(s.Since)).Scan(&p.at)
}

// arguments are those of deadSQL.
func (s Selection) arguments(from position, most int) []any {
	return []any{from.at, from.id, most, orNull(s.Queue), orNull(s.Consumer), timeOrNull(s.Until)}
}

func orNull(s string) any {
	if s == "" {
		return nil
	}
	return s
}

func timeOrNull(t time.Time) any {
	if t.IsZero() {
		return nil
	}
	return t
}

// finiteTime is a time that the server may give as infinite, and then the zero time is meant.
type finiteTime time.Time

// ScanTimestamptz reads it.
func (t *finiteTime) ScanTimestamptz(v pgtype.Timestamptz) error {
	*t = finiteTime{}
	if v.Valid && v.InfinityModifier == pgtype.Finite {
		*t = finiteTime(v.Time)
	}
	return nil
}

// optional is a text that may be null, and then is empty.
type optional string

// ScanText reads it.
func (s *optional) ScanText(v pgtype.Text) error {
	*s = optional(v.String)
	return nil
}

// scanMessage reads a row of listSQL.
func scanMessage(row pgx.CollectableRow) (m Message, err error) {
	var headers, properties, data *string
	var attempts *int
	err = row.Scan(&m.Place.At, &m.Place.ID, &m.IID, (*optional)(&m.Queue), (*optional)(&m.Consumer), (*finiteTime)(&m.Died), (*optional)(&m.Error), &attempts,
		(*finiteTime)(&m.Expires), &headers, &properties, &data)
	if err != nil {
		return m, err
	}
	if attempts != nil {
		m.Attempts = *attempts
	}
	for _, h := range []struct {
		text *string
		into *map[string]*string
	}{{headers, &m.Headers}, {properties, &m.Properties}, {data, &m.Data}} {
		if h.text == nil {
			continue
		}
		var read pgtype.Hstore
		if err := read.Scan(*h.text); err != nil {
			return m, fmt.Errorf("reading message %s: %w", m.IID, err)
		}
		*h.into = read
	}
	return m, nil
}
