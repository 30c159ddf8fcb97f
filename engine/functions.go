package engine

import (
	"context"
	"crypto/md5"
	"encoding/hex"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/jackc/pgx/v5"

	"mbusproxy/sqlfuncs"
)

// Where a call cannot be served inside the client's statement, a function in the database serves it:
// mbus4.at_<name>, volatile, in SQL, made of the same texts. So the server itself decides whether and
// how often it runs. Its parameters are those of the call and the call's mark: its number in the client's text
// and the session's secret, for errors. See docs/adr/0010-functions.md.
//
// The functions belong to the program, not to a version of the schema: whenever those found are not the
// program's own, they are replaced. What a function gives must not change under its name, for Postgres
// does not replace a function by one of another type.

// functionPrefix starts the names of the functions; no call that is served does.
const functionPrefix = "at_"

// variant is one of the functions for a text. There is more than one where most calls need little of what
// some do.
type variant struct {
	suffix  string   // of the name
	without []string // parameters that it does not have
	ordered bool
}

// plainPost are the parameters that take several times longer when they are given.
var plainPost = []string{"headers", "iid"}

// variants lists the functions for f, the plainest first.
func (t *CallTexts) variants(f *sqlfuncs.Func) []variant {
	switch {
	case f.Serves == "post":
		return []variant{{without: plainPost}, {suffix: "_full"}}
	case t.Fragment(f, sqlfuncs.Use{}) != t.Fragment(f, sqlfuncs.Use{Ordered: true}):
		return []variant{{}, {suffix: "_waking", ordered: true}}
	}
	return []variant{{}}
}

// variant chooses the function for a call: the plainest that has all that is given.
func (t *CallTexts) variant(f *sqlfuncs.Func, use sqlfuncs.Use) variant {
	var fit []variant
	for _, v := range t.variants(f) {
		if !slices.ContainsFunc(v.without, func(p string) bool { return use.Given[p] }) {
			fit = append(fit, v)
		}
	}
	if i := slices.IndexFunc(fit, func(v variant) bool { return v.ordered == use.Ordered }); i >= 0 {
		return fit[i]
	}
	return fit[0] // order makes no difference to it
}

// definition is a function as it is to be created.
type definition struct {
	name      string // without the schema
	signature string // as for drop function
	create    string
}

// functionCall is the expression that calls the function. The arguments are placeholders, in the words
// of f's parameters.
func (t *CallTexts) functionCall(f *sqlfuncs.Func, use sqlfuncs.Use) string {
	if f.Serves == "dyn_consume" && !use.Given["selector"] {
		match, _ := sqlfuncs.Lookup("consume") // its parameters are among the other's
		f = match.Func
	}
	v := t.variant(f, use)
	args := make([]string, 0, len(f.Params)+1)
	for _, p := range f.Params {
		if !slices.Contains(v.without, p.Name) {
			args = append(args, "{"+p.Name+"}")
		}
	}
	mark := "'{k}'"
	if use.Numbered {
		mark = "'{k.a}'"
	}
	call := sqlfuncs.Schema + "." + functionPrefix + f.Serves + v.suffix + "(" + strings.Join(append(args, mark), ", ") + ")"
	if f.Result == sqlfuncs.Void {
		return "coalesce(" + call + ", ''::pg_catalog.void)" // SQL gives null, all other languages do not
	}
	return call
}

// definitions lists the functions for all texts that serve calls.
func (t *CallTexts) definitions(hstoreSchema string) []definition {
	var out []definition
	seen := map[string]bool{}
	for _, f := range sqlfuncs.All() {
		if f.Effect == sqlfuncs.Native || seen[f.Serves] {
			continue
		}
		seen[f.Serves] = true
		for _, v := range t.variants(f) {
			out = append(out, t.definition(f, v, hstoreSchema))
		}
	}
	return out
}

func (t *CallTexts) definition(f *sqlfuncs.Func, v variant, hstoreSchema string) definition {
	var types, names, values []string
	fills := []string{"{hstore}", hstoreSchema, "{c}", "mbus4_c", "{name}", sqlfuncs.QuoteIdent(f.Serves)}
	given := map[string]bool{}
	for _, p := range f.Params {
		if slices.Contains(v.without, p.Name) {
			continue
		}
		n := "$" + strconv.Itoa(len(types)+1)
		types = append(types, p.Type.SQL(hstoreSchema))
		names = append(names, sqlfuncs.QuoteIdent(p.Name))
		values = append(values, n)
		fills = append(fills, "{"+p.Name+"}", n)
		given[p.Name] = true
	}
	number := "$" + strconv.Itoa(len(types)+1)
	types = append(types, "pg_catalog.text")

	fragment := t.Fragment(f, sqlfuncs.Use{Given: given, Ordered: v.ordered, Selective: true})
	body := "select " + fragment.Expr
	if fragment.CTEs != "" {
		result := "{c}." + sqlfuncs.QuoteIdent(f.Serves)
		if f.Set { // as one column a row is taken for a column of the set
			result = "(" + result + ").*"
		}
		body = fmt.Sprintf("with {c}_a (%s) as (select %s), %s select %s from {c}",
			strings.Join(append([]string{"n"}, names...), ", "), strings.Join(append([]string{"1::bigint"}, values...), ", "),
			fragment.CTEs, result)
	}
	body = strings.NewReplacer(fills...).Replace(numbered(body, number))

	d := definition{name: functionPrefix + f.Serves + v.suffix}
	d.signature = sqlfuncs.Schema + "." + d.name + "(" + strings.Join(types, ", ") + ")"
	returns, rows := f.Result.SQL(hstoreSchema), ""
	if f.Set {
		returns, rows = "setof "+returns, " rows 1"
	}
	d.create = fmt.Sprintf("create or replace function %s returns %s language sql volatile%s as %s",
		d.signature, returns, rows, sqlfuncs.QuoteLiteral(body))
	return d
}

// numbered puts the parameter with the call's mark in the place of {k}: the mark in a literal, its number where
// {k} is a word of SQL.
func numbered(text, parameter string) string {
	var b strings.Builder
	literal := false
	for text != "" {
		switch {
		case strings.HasPrefix(text, "{k}"):
			if literal {
				b.WriteString("'||" + parameter + "||'")
			} else {
				b.WriteString("pg_catalog.split_part(" + parameter + ", ' ', 1)::pg_catalog.int4")
			}
			text = text[len("{k}"):]
			continue
		case text[0] == '\'':
			literal = !literal // twice for a quote in a literal
		}
		b.WriteByte(text[0])
		text = text[1:]
	}
	return b.String()
}

// fingerprint tells these definitions from others.
func fingerprint(list []definition) string {
	h := md5.New()
	for _, d := range list {
		h.Write([]byte(d.create + ";\n"))
	}
	return hex.EncodeToString(h.Sum(nil))
}

// functionsMark is the function whose comment holds the fingerprint.
const functionsMark = "at_post"

// functionsFound returns the fingerprint of the functions in the database, "" where there are none.
func functionsFound(ctx context.Context, conn *pgx.Conn) (string, error) {
	var found string
	err := conn.QueryRow(ctx, `
		select coalesce(pg_catalog.min(pg_catalog.obj_description(p.oid, 'pg_proc')), '')
		from pg_catalog.pg_proc p
		where p.pronamespace = pg_catalog.to_regnamespace('mbus4') and p.proname = $1`, functionsMark).Scan(&found)
	if err != nil {
		return "", fmt.Errorf("looking for the functions of schema mbus4: %w", err)
	}
	return found, nil
}

// createFunctions makes the functions, unless they are there, and drops those of the prefix that are not among
// them.
func createFunctions(ctx context.Context, conn *pgx.Conn, list []definition) error {
	return inTurn(ctx, conn, func(tx pgx.Tx) error {
		if found, err := functionsFound(ctx, conn); err != nil || found == fingerprint(list) {
			return err
		}
		var signatures []string
		for _, d := range list {
			if _, err := tx.Exec(ctx, d.create); err != nil {
				return fmt.Errorf("creating function mbus4.%s: %w", d.name, err)
			}
			signatures = append(signatures, d.signature)
			if d.name == functionsMark {
				comment := "comment on function " + d.signature + " is " + sqlfuncs.QuoteLiteral(fingerprint(list))
				if _, err := tx.Exec(ctx, comment); err != nil {
					return fmt.Errorf("noting the version of the functions: %w", err)
				}
			}
		}
		rows, err := tx.Query(ctx, `
			select 'drop function ' || p.oid::pg_catalog.regprocedure
			from pg_catalog.pg_proc p
			where p.pronamespace = pg_catalog.to_regnamespace('mbus4') and pg_catalog.starts_with(p.proname, $1)
			  and p.oid <> all (array(select pg_catalog.to_regprocedure(s)::oid from pg_catalog.unnest($2::text[]) s))`,
			functionPrefix, signatures)
		if err != nil {
			return fmt.Errorf("looking for old functions: %w", err)
		}
		drops, err := pgx.CollectRows(rows, pgx.RowTo[string])
		if err != nil {
			return fmt.Errorf("looking for old functions: %w", err)
		}
		for _, drop := range drops {
			if _, err := tx.Exec(ctx, drop); err != nil {
				return fmt.Errorf("dropping an old function: %w", err)
			}
		}
		return nil
	})
}
