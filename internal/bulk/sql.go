package bulk

import (
	"context"
	"embed"
	"fmt"
	"strings"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
)

//go:embed sql
var files embed.FS

// text reads a statement. Its names are looked up with [settings].
func text(name string) string {
	b, err := files.ReadFile("sql/" + name + ".sql")
	if err != nil {
		panic(err) // it is part of the program
	}
	return string(b)
}

var (
	takeBackSQL = text("take_back")
	putBackSQL  = text("put_back")
)

// settings are for a transaction: a name is the server's, whatever the session has made of its own,
// and a statement goes along the primary key, whatever was counted of the table.
const settings = `select pg_catalog.set_config(s.name, s.value, true)
from (values ('search_path', 'pg_catalog, pg_temp'), ('standard_conforming_strings', 'on'), ('enable_seqscan', 'off'), ('enable_bitmapscan', 'off'), ('jit', 'off')) s (name, value)`

// mostLooked is how many dead messages one statement looks at in search of some.
const mostLooked = 10_000

// deadSQL reads what is dead along the primary key, behind a place, $3 messages at most, and says of each whether it is selected. $4 and
// $5 are the queue and the consumer, or null, and $6 until when it died, or null. The condition is that of the selector, which is data of the
// schema's (package engine/selectors makes it) and can do nothing but look at the message.
const deadSQL = `(
	select m.*, case when ($4::text is null or m.headers operator(mbus4_hstore.->) 'destination'::text = lower($4 collate "C"))
			and ($5::text is null or coalesce(m.headers operator(mbus4_hstore.->) 'dmq.consumer'::text, 'default') = lower($5 collate "C")) then %s end is not distinct from 1 as selected
	from mbus4.message m
	where m.consumer_id = 1 and (m.available_at, m.id) > ($1::timestamptz, $2::bigint) and m.available_at <= least($6::timestamptz, statement_timestamp())
	order by m.available_at, m.id
	limit $3::int
)`

const conditionSQL = `(
	select (%s)
	from (select m.id, m.added::timestamp as added, mbus4.iid_of(m.iid, 'dmq', m.available_at, m.id) as iid, coalesce(m.delayed_until, m.added)::timestamp as delayed_until,
		m.expires::timestamp as expires, coalesce(m.received, '{}') as received, mbus4.headers_of('dmq', m.added, m.headers) as headers, m.properties, m.data) t
)`

// dead is deadSQL with the condition of a selector, "" for none. One that the proxy has not checked is an error (SQLSTATE 0A000).
func dead(ctx context.Context, tx pgx.Tx, selector string) (string, error) {
	selector = strings.TrimSpace(selector)
	if selector == "" {
		return fmt.Sprintf(deadSQL, "1"), nil
	}
	var condition string
	err := tx.QueryRow(ctx, `select coalesce((
		select s.condition from mbus4.selector s where s.id = ('x' || left(md5(convert_to($1, 'UTF8')), 16))::bit(64)::bigint and s.text = $1 and s.refused is null), '')`, selector).Scan(&condition)
	if err != nil {
		return "", fmt.Errorf("asking for the selector: %w", err)
	}
	if condition == "" {
		return "", &pgconn.PgError{Severity: "ERROR", Code: "0A000", Message: "the selector was not checked", Hint: "It was forgotten in between. Begin again."}
	}
	return fmt.Sprintf(deadSQL, fmt.Sprintf(conditionSQL, condition)), nil
}

// within runs f in a transaction with settings; in one that is under way it is a part of it.
func within(ctx context.Context, db Querier, f func(tx pgx.Tx) error) error {
	return pgx.BeginFunc(ctx, db, func(tx pgx.Tx) error {
		if _, err := tx.Exec(ctx, settings); err != nil {
			return fmt.Errorf("setting up the transaction: %w", err)
		}
		return f(tx)
	})
}
