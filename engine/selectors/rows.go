package selectors

import (
	"context"
	"crypto/md5"
	"encoding/binary"
	"errors"
	"fmt"
	"strings"
	"text/template"
	"time"

	"github.com/jackc/pgx/v5"

	"mbusproxy/engine/refusal"
	"mbusproxy/rewrite/parse"
	"mbusproxy/selector"
	"mbusproxy/sqlfuncs"
)

// rowID is the key of a selector's row; see engine/calls/sql/part/selector_row.sql.
func rowID(text string) int64 {
	sum := md5.Sum([]byte(text))
	return int64(binary.BigEndian.Uint64(sum[:8]))
}

// selectorRow is a row of mbus4.selector as it is to be.
type selectorRow struct {
	id        int64
	text      string
	asks      map[string][]string // by column what it must contain, keys and values in turn; nil: it takes the condition
	condition string
	canFail   bool
	refused   string // why it selects nothing; "": it does
	env       selector.Env
}

// Check returns what is wrong with a selector's text, as a *refusal.Error; nil where a row could be
// made of it. It makes none.
func Check(ctx context.Context, parser *parse.Parser, text string, env selector.Env) error {
	_, err := compile(ctx, parser, text, env)
	return err
}

// Condition is the SQL of a selector's text, over t, a row of mbus4.qt_model: 1 where the message
// matches. It raises no error and calls nothing of a client's. A refusal is a *refusal.Error. No
// row is made.
func (s *Maker) Condition(ctx context.Context, text string) (sql string, err error) {
	row, err := compile(ctx, s.parser, text, s.env)
	return row.condition, err
}

// compile compiles a selector's text. A refusal is a *refusal.Error.
func compile(ctx context.Context, parser *parse.Parser, text string, env selector.Env) (selectorRow, error) {
	s, err := selector.Compile(ctx, parser, text, env)
	if err != nil {
		var refused *selector.Error
		if !errors.As(err, &refused) {
			return selectorRow{}, fmt.Errorf("compiling a selector: %w", err)
		}
		return selectorRow{}, &refusal.Error{
			Code:    refused.Code,
			Message: fmt.Sprintf("the selector %s is refused: %s", text, refused.Message),
			Hint:    refused.Hint,
		}
	}
	return selectorRow{
		id: rowID(text), text: text, asks: asked(s.Simple), condition: s.Condition, canFail: s.CanFail, env: env,
	}, nil
}

// asked turns the terms of a simple selector into what each column must contain. It gives nil where there are no terms,
// and where two want different values of one key, which one hstore cannot say.
func asked(terms []selector.Term) map[string][]string {
	var out map[string][]string
	seen := map[[2]string]string{}
	for _, t := range terms {
		place := [2]string{t.Column, t.Key}
		if value, again := seen[place]; again {
			if value != t.Value {
				return nil
			}
			continue
		}
		seen[place] = t.Value
		if out == nil {
			out = map[string][]string{}
		}
		out[t.Column] = append(out[t.Column], t.Key, t.Value)
	}
	return out
}

// beginner is a connection or a transaction.
type beginner interface {
	Begin(ctx context.Context) (pgx.Tx, error)
}

// store makes the row of a selector, or marks the one that is there as wanted. role is the login
// role of whoever wants it.
func store(ctx context.Context, conn beginner, role string, row selectorRow) error {
	return pgx.BeginFunc(ctx, conn, func(tx pgx.Tx) error {
		found, err := refresh(ctx, tx, row)
		if err != nil || found {
			return err
		}
		// One at a time, so that their number can be bounded. No client may lock the table in any mode that
		// keeps this out.
		if _, err := tx.Exec(ctx, `lock table mbus4.selector in share row exclusive mode`); err != nil {
			return fmt.Errorf("waiting to make a selector: %w", err)
		}
		if found, err = refresh(ctx, tx, row); err != nil || found {
			return err
		}
		if err := checkRoom(ctx, tx, role); err != nil {
			return err
		}
		return insert(ctx, tx, role, row)
	})
}

// refresh looks for the row of a selector. One that another version made it compiles again, and one
// that was last wanted a while ago it marks as wanted, so that it is not removed.
func refresh(ctx context.Context, tx pgx.Tx, row selectorRow) (found bool, err error) {
	var text string
	var current, fresh bool
	err = tx.QueryRow(ctx, `
		select s.text, s.refused is null and s.version >= $2 and s.major = $3, s.wanted > pg_catalog.now() - $4::interval
		from mbus4.selector s
		where s.id = $1`, row.id, selector.Version, row.env.Major, selectorRefresh).Scan(&text, &current, &fresh)
	switch {
	case errors.Is(err, pgx.ErrNoRows):
		return false, nil
	case err != nil:
		return false, fmt.Errorf("looking for a selector: %w", err)
	case text != row.text:
		return false, &refusal.Error{
			Code:    refusal.DuplicateObject,
			Message: fmt.Sprintf("the selector %s has the md5 prefix of another that is in use", row.text),
			Hint:    "Write it in another way, for example with a blank more.",
		}
	case !current:
		return true, update(ctx, tx, row)
	case fresh:
		return true, nil
	}
	// The row may have been removed in between. Only those who mark or remove the same row can make this wait.
	tag, err := tx.Exec(ctx, `update mbus4.selector set wanted = pg_catalog.now() where id = $1`, row.id)
	if err != nil {
		return false, fmt.Errorf("marking a selector as wanted: %w", err)
	}
	return tag.RowsAffected() > 0, nil
}

// checkRoom refuses a further selector where there are too many. Those that nobody uses make room first.
func checkRoom(ctx context.Context, tx pgx.Tx, role string) error {
	const count = `select count(*), count(*) filter (where maker = $1::name) from mbus4.selector`
	for attempt := 0; ; attempt++ {
		var all, own int
		if err := tx.QueryRow(ctx, count, role).Scan(&all, &own); err != nil {
			return fmt.Errorf("counting selectors: %w", err)
		}
		if all < maxSelectors && own < maxSelectorsOfRole {
			return nil
		}
		if attempt > 0 {
			message := fmt.Sprintf("there are %d different selectors, which is the most that a database can have", all)
			if all < maxSelectors {
				message = fmt.Sprintf("role %q has made %d different selectors, which is the most that one role can", role, own)
			}
			return &refusal.Error{
				Code:    "54000", // program_limit_exceeded
				Message: message,
				Hint:    "Drop consumers and triggers that are not needed, or wait: selectors that nobody uses any more make room within minutes.",
			}
		}
		if _, err := collect(ctx, tx, selectorGrace); err != nil {
			return err
		}
	}
}

// statements are text/templates; what they take is the schema of hstore's functions. $1 to $10 are selectorRow.values.
var statements = template.Must(template.New("").Parse(`
{{define "values"}}{{.}}.hstore($3::text[]), {{.}}.hstore($4::text[]), {{.}}.hstore($5::text[]), $6, $7, nullif($8, ''), $9, $10{{end}}

{{define "insert"}}
	insert into mbus4.selector (id, text, headers, properties, data, condition, can_fail, refused, version, major, maker)
	values ($1, $2, {{template "values" .}}, $11)
{{end}}

{{define "update"}}
	update mbus4.selector s
	set (headers, properties, data, condition, can_fail, refused, version, major) = ({{template "values" .}}), wanted = pg_catalog.now()
	where s.id = $1 and s.text = $2
{{end}}`))

// statement is one of statements.
func (r selectorRow) statement(name string) string {
	var b strings.Builder
	if err := statements.ExecuteTemplate(&b, name, sqlfuncs.BoundHstore); err != nil {
		panic(fmt.Sprintf("filling in a statement about selectors: %v", err)) // a broken build
	}
	return b.String()
}

func (r selectorRow) values() []any {
	return []any{r.id, r.text, r.asks["headers"], r.asks["properties"], r.asks["data"], r.condition, r.canFail, r.refused, selector.Version, r.env.Major}
}

func insert(ctx context.Context, tx pgx.Tx, role string, row selectorRow) error {
	_, err := tx.Exec(ctx, row.statement("insert"), append(row.values(), role)...)
	if err != nil {
		return fmt.Errorf("making a selector: %w", err)
	}
	return nil
}

// update replaces what another version compiled, also in the rows of the selector's consumers.
func update(ctx context.Context, tx pgx.Tx, row selectorRow) error {
	_, err := tx.Exec(ctx, row.statement("update"), row.values()...)
	if err == nil {
		err = spread(ctx, tx, row.id)
	}
	if err != nil {
		return fmt.Errorf("making a selector again: %w", err)
	}
	return nil
}

// spread writes what a selector asks for into the rows of its consumers.
func spread(ctx context.Context, tx pgx.Tx, id int64) error {
	_, err := tx.Exec(ctx, `
		update mbus4.consumer c
		set asks_headers = s.headers, asks_properties = s.properties, asks_data = s.data
		from mbus4.selector s
		where s.id = $1 and c.selector_id = s.id
		  and (c.asks_headers::text, c.asks_properties::text, c.asks_data::text) is distinct from (s.headers::text, s.properties::text, s.data::text)`, id)
	return err
}

// collect removes the rows that no consumer uses and that were last asked for longer than age ago.
func collect(ctx context.Context, tx pgx.Tx, age time.Duration) (int64, error) {
	var gone int64
	err := pgx.BeginFunc(ctx, tx, func(try pgx.Tx) error {
		// A consumer's foreign key holds the row locked until its transaction ends.
		tag, err := try.Exec(ctx, `
			delete from mbus4.selector s
			where s.id = any(array(
				select o.id
				from mbus4.selector o
				where o.wanted < pg_catalog.now() - $1::interval
				  and not exists (select from mbus4.consumer c where c.selector_id = o.id)
				order by o.wanted
				limit 5000
				for update skip locked))`, age)
		gone = tag.RowsAffected()
		return err
	})
	if refusal.SQLState(err) == "23503" { // foreign_key_violation: a consumer came after the snapshot: next time
		return 0, nil
	}
	if err != nil {
		return 0, fmt.Errorf("removing selectors nobody uses: %w", err)
	}
	return gone, nil
}

// CollectUnused removes the selectors that nobody uses.
func CollectUnused(ctx context.Context, conn *pgx.Conn) error {
	return pgx.BeginFunc(ctx, conn, func(tx pgx.Tx) error {
		_, err := collect(ctx, tx, selectorLife)
		return err
	})
}

// StoreOwn does it in a transaction of the caller's, whose role must be the schema's owner or have its rights.
// The text must not name the schema of hstore.
func StoreOwn(ctx context.Context, tx pgx.Tx, parser *parse.Parser, text string) error {
	env := selector.Env{Bound: sqlfuncs.BoundHstore}
	var role string
	err := tx.QueryRow(ctx, `select session_user::text, pg_catalog.current_setting('server_version_num')::int / 10000`).Scan(&role, &env.Major)
	if err != nil {
		return fmt.Errorf("asking for the server's version: %w", err)
	}
	row, err := compile(ctx, parser, text, env)
	if err != nil {
		return err
	}
	if _, err := tx.Exec(ctx, "set local search_path = pg_catalog"); err != nil {
		return fmt.Errorf("setting the search path: %w", err)
	}
	if err := store(ctx, tx, role, row); err != nil {
		return err
	}
	if _, err := tx.Exec(ctx, "set local search_path = default"); err != nil {
		return fmt.Errorf("setting the search path: %w", err)
	}
	return nil
}
