package calls

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"mbusproxy/sqlfuncs"
)

// Where a call cannot be served inside the client's statement, a function in the database serves it:
// mbus4.at_<name>, volatile, in SQL, made of the same texts. So the server itself decides whether and
// how often it runs. Its parameters are those of the call and the call's mark: its number in the client's text
// and the session's secret, for errors. See docs/adr/0010-functions.md.
//
// What a function gives must not change under its name, for Postgres does not replace a function by one of another type.

// FunctionPrefix starts the names of the functions. No function of the catalogue has a name that starts so.
const FunctionPrefix = "at_"

// variant is one of the functions that are made of one text. A text has a second one where few calls need the dearer parts
// of it.
type variant struct {
	suffix  string   // of the name
	without []string // parameters that it does not have
	ordered bool
}

// plainPost are the parameters that take several times longer when they are given.
var plainPost = []string{"headers", "iid"}

// variants lists the functions for f, the plainest first.
func (t *Texts) variants(f *sqlfuncs.Func) []variant {
	switch {
	case f.Serves == "post":
		return []variant{{without: plainPost}, {suffix: "_full"}}
	case t.Fragment(f, sqlfuncs.Use{}) != t.Fragment(f, sqlfuncs.Use{Ordered: true}):
		return []variant{{}, {suffix: "_waking", ordered: true}}
	}
	return []variant{{}}
}

// variant chooses the function for a call: the plainest that takes all arguments given.
func (t *Texts) variant(f *sqlfuncs.Func, use sqlfuncs.Use) variant {
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

// Definition is a function as it is to be created.
type Definition struct {
	Name      string // without the schema
	Signature string // as for drop function
	Create    string
}

// functionCall is the expression that calls the function. The arguments are placeholders, in the words
// of f's parameters.
func (t *Texts) functionCall(f *sqlfuncs.Func, use sqlfuncs.Use) string {
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
	call := sqlfuncs.Schema + "." + FunctionPrefix + f.Serves + v.suffix + "(" + strings.Join(append(args, mark), ", ") + ")"
	if f.Result == sqlfuncs.Void {
		return "coalesce(" + call + ", ''::pg_catalog.void)" // SQL gives null, all other languages do not
	}
	return call
}

// Definitions lists the functions for all texts that serve calls.
func (t *Texts) Definitions(hstoreSchema string) []Definition {
	var out []Definition
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

func (t *Texts) definition(f *sqlfuncs.Func, v variant, hstoreSchema string) Definition {
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

	d := Definition{Name: FunctionPrefix + f.Serves + v.suffix}
	d.Signature = sqlfuncs.Schema + "." + d.Name + "(" + strings.Join(types, ", ") + ")"
	returns, rows := f.Result.SQL(hstoreSchema), ""
	if f.Set {
		returns, rows = "setof "+returns, " rows 1"
	}
	d.Create = fmt.Sprintf("create or replace function %s returns %s language sql volatile%s as %s",
		d.Signature, returns, rows, sqlfuncs.QuoteLiteral(body))
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
