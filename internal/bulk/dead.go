package bulk

import (
	"context"
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
	// Of no message: redrive is the call that takes a selector and no more rights than to consume.
	if _, err := db.Exec(ctx, `select mbus4.redrive(null, $1::text, 0)`, selector); err != nil {
		return fmt.Errorf("checking the selector: %w", err)
	}
	return nil
}

// listSQL shortens what clients may make as long as they like.
const listSQL = `
select d.available_at, d.id, d.iid, case when $9::int operator(pg_catalog.=) 0 then d.queue else pg_catalog."left"(d.queue, $9) end,
       case when $9 operator(pg_catalog.=) 0 then d.consumer else pg_catalog."left"(d.consumer, $9) end, d.died,
       case when $9 operator(pg_catalog.=) 0 then d.error else pg_catalog."left"(d.error, $9) end, d.attempt, d.expires, t.texts[1], t.texts[2], t.texts[3]
from mbus4.dead_messages($1, $2, $3, $4, $5, $6, $7, $8) d
cross join lateral (
	select array(
		select case when $9 operator(pg_catalog.<>) 0 and (pg_catalog.pg_column_size(x.h) operator(pg_catalog.>) $9 or pg_catalog.octet_length(x.h::text) operator(pg_catalog.>) $9)
		            then '"..."=>"too long to be shown here"' else x.h::text end
		from (values (1, d.headers), (2, d.properties), (3, d.data)) x (n, h)
		order by x.n) as texts
) t`

// List gives dead messages behind a place, at most so many, in the order in which they died. next
// is where to go on; nil: there are no more. It gives up after a second of looking at others, so it
// may give fewer messages than asked for, or none, and more is known by next only. most is how many
// bytes of headers, properties, data, names and the error are wanted of each: of longer texts the
// beginning is given, in place of a longer hstore one that says so; 0: all.
func List(ctx context.Context, db Querier, s Selection, after *Place, amount, most int) (messages []Message, next *Place, err error) {
	if err := Check(ctx, db, s.Selector); err != nil {
		return nil, nil, err
	}
	rows, err := db.Query(ctx, listSQL, append(s.arguments(after), amount, most)...)
	if err != nil {
		return nil, nil, fmt.Errorf("listing dead messages: %w", err)
	}
	defer rows.Close()
	for rows.Next() {
		m, matches, err := scanMessage(rows)
		if err != nil {
			return nil, nil, fmt.Errorf("listing dead messages: %w", err)
		}
		if !matches {
			next = &m.Place
			continue
		}
		messages = append(messages, m)
	}
	if err := rows.Err(); err != nil {
		return nil, nil, fmt.Errorf("listing dead messages: %w", err)
	}
	if next == nil && len(messages) > 0 && len(messages) == amount {
		next = &messages[len(messages)-1].Place
	}
	return messages, next, nil
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
	var after *Place
	for {
		var matched, looked int64
		to := Place{}
		err := db.QueryRow(ctx, `select c.messages, c.looked, c.at, c.message, c.finished from mbus4.count_dead($1, $2, $3, $4, $5, $6, $7) c`, s.arguments(after)...).
			Scan(&matched, &looked, (*finiteTime)(&to.At), &to.ID, &p.Count.Exact)
		if err != nil {
			return p, fmt.Errorf("counting dead messages: %w", err)
		}
		p.Count.Messages, p.Count.Looked, after = p.Count.Messages+matched, p.Count.Looked+looked, &to
		if p.Count.Exact || time.Since(began) >= limit {
			return p, nil
		}
	}
}

// arguments are those of dead_messages and count_dead.
func (s Selection) arguments(after *Place) []any {
	args := []any{orNull(s.Queue), orNull(s.Consumer), orNull(strings.TrimSpace(s.Selector)), timeOrNull(s.Since), timeOrNull(s.Until), nil, nil}
	if after != nil {
		args[5], args[6] = after.At, after.ID
	}
	return args
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

// scanMessage reads a row of dead_messages. One that does not match says only where the search was given up.
func scanMessage(rows pgx.Rows) (m Message, matches bool, err error) {
	var iid, headers, properties, data *string
	var attempts *int
	err = rows.Scan(&m.Place.At, &m.Place.ID, &iid, (*optional)(&m.Queue), (*optional)(&m.Consumer), (*finiteTime)(&m.Died), (*optional)(&m.Error), &attempts,
		(*finiteTime)(&m.Expires), &headers, &properties, &data)
	if err != nil || iid == nil {
		return m, false, err
	}
	m.IID = *iid
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
			return m, false, fmt.Errorf("reading message %s: %w", m.IID, err)
		}
		*h.into = read
	}
	return m, true, nil
}
