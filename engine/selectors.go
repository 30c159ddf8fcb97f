package engine

import (
	"context"
	"crypto/md5"
	"encoding/binary"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"mbusproxy/sqlfuncs"
)

const (
	maxSelector      = 16 << 10         // bytes of a selector's text
	inlinedSelectors = 100              // functions that mbus4.selects calls directly
	checkedMemory    = 10 * time.Minute // how long a selector that was found is taken for granted
	checkedRefresh   = 12 * time.Hour   // a function older than this is marked as wanted again
	checkedLife      = 24 * time.Hour   // and one that no consumer uses goes after this
)

// Selectors makes the functions that hold the selectors of consumers and triggers. It is safe for
// concurrent use.
//
// A selector is checked and its function made, and committed, before the call that uses it runs.
// The function's name is derived from the selector's text and it never changes, so there is nothing
// that could be stale: a consumer's row says which function decides, in the same snapshot as the
// row itself. mbus4.selects merely saves asking for the function by name: it is replaced by one that
// calls the functions there are, so that the planner puts them into the statements that post. A
// plan that is older asks by name.
//
// The functions are made with the engine's rights and run with those of whoever posts. Making one
// evaluates nothing. The check that it is immutable may evaluate parts of it: that is done with
// the rights of mbus4_user, in the restricted mode in which Postgres builds indexes.
type Selectors struct {
	mu      sync.Mutex
	checked map[string]time.Time // by text: when the function was last seen
}

// NewSelectors makes Selectors.
func NewSelectors() *Selectors { return &Selectors{checked: map[string]time.Time{}} }

// selectorID is how consumers name a selector's function; see the macro selector_id.sql.
func selectorID(text string) int64 {
	sum := md5.Sum([]byte(text))
	return int64(binary.BigEndian.Uint64(sum[:8]))
}

// selectorFunction is the function's name.
func selectorFunction(id int64) string { return "selector_" + strconv.FormatUint(uint64(id), 16) }

// EnsureSelector checks a selector, one boolean expression over t, and makes its function unless it
// is there. The text must be known to be a single expression: that takes a parser, which is not the
// engine's. A refusal is an *Error. An empty selector selects everything and needs no function.
func (d *Database) EnsureSelector(ctx context.Context, text string) error {
	if strings.TrimSpace(text) == "" {
		return nil
	}
	if len(text) > maxSelector {
		return &Error{
			Code:    codeProgramLimit,
			Message: fmt.Sprintf("a selector of %d bytes is too long", len(text)),
			Hint:    fmt.Sprintf("At most %d bytes; an immutable function may hold the rest.", maxSelector),
		}
	}
	d.keeper.selective.Store(true)
	if d.keeper.selectors.known(text) {
		return nil
	}
	ctx, cancel := d.engine.untilStop(ctx)
	defer cancel()
	ctx, cancelTimeout := context.WithTimeout(ctx, openTimeout)
	defer cancelTimeout()
	err := d.withConn(ctx, func(conn *pgx.Conn) error {
		return pgx.BeginFunc(ctx, conn, func(tx pgx.Tx) error { return makeSelector(ctx, tx, d.hstoreSchema, text) })
	})
	if err != nil {
		return asError("checking a selector", err)
	}
	d.keeper.selectors.remember(text)
	return nil
}

func (s *Selectors) known(text string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return time.Since(s.checked[text]) < checkedMemory
}

func (s *Selectors) remember(text string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.checked) > 1000 {
		clear(s.checked)
	}
	s.checked[text] = time.Now()
}

// makeSelector makes the function of a selector and puts it into mbus4.selects.
func makeSelector(ctx context.Context, tx pgx.Tx, hstoreSchema, text string) error {
	// One at a time: replacing a function while another does fails.
	if _, err := tx.Exec(ctx, lockSelectorsSQL); err != nil {
		return fmt.Errorf("waiting to make a selector: %w", err)
	}
	id := selectorID(text)
	name := selectorFunction(id)
	var wanted *string
	err := tx.QueryRow(ctx, `select pg_catalog.obj_description(p, 'pg_proc')
		from pg_catalog.to_regprocedure('mbus4.' || $1 || '(mbus4.qt_model)') p where p is not null`, name).Scan(&wanted)
	switch {
	case errors.Is(err, pgx.ErrNoRows):
		if _, err := tx.Exec(ctx, `set local search_path = public, `+hstoreSchema); err != nil {
			return fmt.Errorf("setting the search path: %w", err)
		}
		if err := defineSelector(ctx, tx, name, text); err != nil {
			return err
		}
	case err != nil:
		return fmt.Errorf("looking for a selector's function: %w", err)
	case wanted != nil && isYoung(*wanted, checkedRefresh):
		return nil
	}
	comment := fmt.Sprintf(`comment on function mbus4.%s(mbus4.qt_model) is %s`, name, sqlfuncs.QuoteLiteral(time.Now().UTC().Format(time.RFC3339)+" "+text))
	if _, err := tx.Exec(ctx, comment); err != nil {
		return fmt.Errorf("describing a selector's function: %w", err)
	}
	return compileSelectors(ctx, tx, id)
}

// isYoung reports whether a function's comment, which begins with a time, is younger than age.
func isYoung(comment string, age time.Duration) bool {
	stamp, _, _ := strings.Cut(comment, " ")
	at, err := time.Parse(time.RFC3339, stamp)
	return err == nil && time.Since(at) < age
}

// defineSelector creates the function. Its body is stored as a parsed expression: the search path of
// those who post does not matter.
func defineSelector(ctx context.Context, tx pgx.Tx, name, text string) error {
	define := fmt.Sprintf("create function mbus4.%s(t mbus4.qt_model) returns boolean language sql immutable return (\n%s\n)", name, text)
	try, err := tx.Begin(ctx)
	if err != nil {
		return fmt.Errorf("checking a selector: %w", err)
	}
	defer func() { _ = try.Rollback(ctx) }() // after a commit it does nothing; a broken connection shows
	_, err = try.Exec(ctx, define)
	switch {
	case sqlState(err) == codeUndefinedTable:
		// To the function t.nosuch is a table that is missing; to an index it is a column.
		if err := try.Rollback(ctx); err != nil {
			return fmt.Errorf("checking a selector: %w", err)
		}
		if err := tryIndex(ctx, tx, true, text); err != nil {
			return err
		}
		return selectorError(text, err)
	case err != nil:
		return selectorError(text, err)
	}
	if err := try.Commit(ctx); err != nil {
		return fmt.Errorf("checking a selector: %w", err)
	}
	var foreign bool
	if err := tx.QueryRow(ctx, foreignSQL, name).Scan(&foreign); err != nil {
		return fmt.Errorf("looking at what a selector calls: %w", err)
	}
	return tryIndex(ctx, tx, foreign, text)
}

// What a selector's function refers to that is neither the server's, an extension's nor the schema's.
const foreignSQL = `
select exists (
	select from pg_catalog.pg_depend d
	where d.classid = 'pg_catalog.pg_proc'::regclass and d.objid = pg_catalog.to_regprocedure('mbus4.' || $1 || '(mbus4.qt_model)')
	  and d.deptype = 'n'
	  and d.refclassid in ('pg_catalog.pg_proc'::regclass, 'pg_catalog.pg_operator'::regclass, 'pg_catalog.pg_type'::regclass)
	  and not (d.refclassid = 'pg_catalog.pg_type'::regclass and d.refobjid = 'mbus4.qt_model'::regtype)
	  and not exists (select from pg_catalog.pg_depend e
	                  where e.classid = d.refclassid and e.objid = d.refobjid and e.deptype = 'e'))`

// tryIndex has the server check the expression as the predicate of an index, which is then undone: it
// must be immutable. Doing so may evaluate it, so functions of users, foreign, are not run with our rights.
func tryIndex(ctx context.Context, tx pgx.Tx, foreign bool, text string) error {
	check, err := tx.Begin(ctx)
	if err != nil {
		return fmt.Errorf("checking a selector: %w", err)
	}
	defer func() { _ = check.Rollback(ctx) }() // a broken connection shows in the next statement
	if _, err := check.Exec(ctx, `create temporary table t of mbus4.qt_model`); err != nil {
		return fmt.Errorf("checking a selector: %w", err)
	}
	if foreign {
		if _, err := check.Exec(ctx, `alter table pg_temp.t owner to `+roleUser); err != nil {
			return &Error{
				Code:    codeFeatureNotSupported,
				Message: "a selector that calls functions of users cannot be checked",
				Hint:    "The role of --admin must be a superuser or a member of " + roleUser + ".",
				Err:     err,
			}
		}
	}
	if _, err := check.Exec(ctx, "create index on pg_temp.t (id) where (\n"+text+"\n)"); err != nil {
		return selectorError(text, err)
	}
	return nil
}

// selectorError says which rule a selector breaks.
func selectorError(text string, err error) error {
	var e *pgconn.PgError
	if !errors.As(err, &e) {
		return fmt.Errorf("checking a selector: %w", err)
	}
	rule := e.Message
	switch e.Code {
	case "42P17": // invalid_object_definition
		rule = "only immutable functions and constants may occur in it"
	case "42601": // syntax_error
		rule = "it must be one SQL expression: " + e.Message
	case "42804", "42P13": // datatype_mismatch, invalid_function_definition
		rule = "it must be boolean: " + e.Message
	case "42P01", "42703": // undefined_table, undefined_column
		rule = "it can refer to nothing but the columns of t: " + e.Message
	}
	return &Error{
		Code:    e.Code,
		Message: fmt.Sprintf("the selector %s is refused: %s", text, rule),
		Hint:    `A selector is one boolean expression over t, a mbus4.qt_model, for example (t.properties->'STATE')='DONE'.`,
	}
}

// compileSelectors replaces mbus4.selects by one that knows the functions that are in use, and the
// new one, and drops those that have been out of use for long.
func compileSelectors(ctx context.Context, tx pgx.Tx, wanted int64) error {
	rows, err := tx.Query(ctx, `
		select p.proname::text, coalesce(pg_catalog.obj_description(p.oid, 'pg_proc'), ''),
		       exists (select from mbus4.consumer c where 'selector_' || pg_catalog.to_hex(c.selector_id) = p.proname)
		from pg_catalog.pg_proc p
		where p.pronamespace = 'mbus4'::regnamespace and p.proname ~ '^selector_[0-9a-f]+$'
		order by p.oid`)
	if err != nil {
		return fmt.Errorf("listing the selectors' functions: %w", err)
	}
	var inlined, old []string
	var name, comment string
	var used bool
	_, err = pgx.ForEachRow(rows, []any{&name, &comment, &used}, func() error {
		switch {
		case used, name == selectorFunction(wanted):
			inlined = append(inlined, name)
		case !isYoung(comment, checkedLife):
			old = append(old, name)
		}
		return nil
	})
	if err != nil {
		return fmt.Errorf("listing the selectors' functions: %w", err)
	}
	if len(inlined) > inlinedSelectors { // the newest; the others are found by name
		inlined = inlined[len(inlined)-inlinedSelectors:]
	}
	var cases strings.Builder
	for _, name := range inlined {
		id, err := strconv.ParseUint(strings.TrimPrefix(name, "selector_"), 16, 64)
		if err != nil {
			continue // not one of ours
		}
		fmt.Fprintf(&cases, " when %d then mbus4.%s(t)", int64(id), name)
	}
	_, err = tx.Exec(ctx, `create or replace function mbus4.selects(selector_id bigint, t mbus4.qt_model) returns boolean
		language sql immutable return case selector_id`+cases.String()+` else mbus4.selects_late(selector_id, t) end`)
	if err != nil {
		return fmt.Errorf("replacing mbus4.selects: %w", err)
	}
	for _, name := range old {
		if _, err := tx.Exec(ctx, `drop function mbus4.`+name+`(mbus4.qt_model)`); err != nil {
			return fmt.Errorf("dropping a selector nobody uses: %w", err)
		}
	}
	return nil
}
