package selector

import (
	"fmt"
	"math/rand/v2"
	"regexp"
	"slices"
	"strings"
)

// generator makes random selectors from the grammar of the language, well typed but for a few.
type generator struct {
	*rand.Rand
}

func (g *generator) one(of ...string) string { return of[g.IntN(len(of))] }

// boolean makes an expression of that type.
func (g *generator) boolean(depth int) string {
	if depth <= 0 {
		return g.one("(t.id is not null)", "(t.id is null)", "(t.data->'zz')::bool", "t.data ? 'a'", "t.properties->'p' = '1'", "t.iid = 'x'", "(t.data->'flag')::bool", "data @> 'a=>1'", "t.received is null", "exist(data, 'n')", "defined(t.data, 'b')")
	}
	d := depth - 1
	t := g.number()
	switch g.IntN(23) {
	case 0, 1:
		return "(" + g.boolean(d) + " and " + g.boolean(d) + g.one("", " and "+g.boolean(d-1)) + ")"
	case 2:
		return "(" + g.boolean(d) + " or " + g.boolean(d) + ")"
	case 3:
		return "(not " + g.boolean(d) + ")"
	case 4:
		return "(" + g.boolean(d) + " is " + g.one("true", "not true", "false", "not false", "unknown", "not unknown", "null", "not null") + ")"
	case 5, 6, 7, 8:
		return g.compare(t, d)
	case 9:
		u := g.one("text", "bool", "date", "timestamp", "hstore", "text[]")
		return g.compare(u, d)
	case 10:
		return fmt.Sprintf("(%s %sbetween %s %s and %s)", g.value(t, d), g.one("", "not "), g.one("", "", "symmetric"), g.value(t, d), g.value(g.like(t), d))
	case 11:
		u := g.one(t, "text")
		list := []string{g.value(u, d-1)}
		for range g.IntN(3) {
			list = append(list, g.one(g.constant(g.like(u)), g.value(g.like(u), d-1)))
		}
		return fmt.Sprintf("(%s %sin (%s))", g.value(u, d), g.one("", "not "), strings.Join(list, ", "))
	case 12:
		u := g.one(t, "text")
		return fmt.Sprintf("(%s is %sdistinct from %s)", g.value(u, d), g.one("", "not "), g.value(u, d))
	case 13:
		return fmt.Sprintf("(%s is %snull)", g.value(g.typ(), d), g.one("", "not "))
	case 14:
		return g.caseOf("bool", d)
	case 15:
		return fmt.Sprintf("(%s %slike %s)", g.text(d), g.one("", "not ", "i", "not i"), g.one("'%a%'", "'1_'", "''", "'%'", `'\%%'`, "'!%a' escape '!'", "'x%y' escape ''"))
	case 16:
		return fmt.Sprintf("(%s %s %s)", g.text(d), g.one("~", "!~", "~*", "!~*"), g.one("'^[0-9]+$'", "'a|b'", `'\d{2,3}'`, "'(?:x?y)*z'", "'[[:alpha:]_]'", `'^\s*$'`, "'.'"))
	case 17:
		return fmt.Sprintf("(%s %s %s)", g.value("hstore", d), g.one("?&", "?|"), g.value("text[]", d))
	case 18:
		return fmt.Sprintf("(%s %s %s)", g.value("hstore", d), g.one("@>", "<@", "=", "<>"), g.value("hstore", d))
	case 19:
		if g.IntN(2) == 0 {
			return fmt.Sprintf("(%s %s %s (%s))", g.text(d), g.one("=", "<>"), g.one("any", "all"), g.value("text[]", d))
		}
		return fmt.Sprintf("(%s %s %s (%s))", g.value(t, d), g.one("=", "<>", "<", ">="), g.one("any", "all"), g.one("t.received", "'{1,2,null}'::int[]", "array[1, 20000000000]"))
	case 21:
		return "(" + g.json(d) + g.one(" ? 'a'", " ?& '{a,b}'", " ?| "+g.value("text[]", d), " @> "+g.constant("jsonb"), " <@ "+g.constant("jsonb"), " = "+g.json(d), " <> "+g.constant("jsonb"), " ? "+g.text(d)) + ")"
	case 20:
		return g.one("("+g.value("int", d)+")::bool", "("+g.text(d)+")::bool", "coalesce("+g.boolean(d)+", "+g.boolean(d)+")", "starts_with("+g.text(d)+", '1')",
			"(t.received @> array[1])", "(avals(data) && '{1,x}')", "("+g.text(d)+" ^@ 'a')")
	}
	return g.compare("text", d)
}

func (g *generator) compare(t string, d int) string {
	ops := []string{"=", "<>", "<", "<=", ">", ">="}
	if t == "hstore" || t == "jsonb" || t == "text[]" {
		ops = ops[:2]
	}
	if g.IntN(3) == 0 {
		return "(" + g.value(t, d) + " " + g.one(ops...) + " " + g.constant(t) + ")"
	}
	return "(" + g.value(t, d) + " " + g.one(ops...) + " " + g.value(g.like(t), d) + ")"
}

func (g *generator) number() string {
	return g.one("int", "int", "bigint", "smallint", "numeric", "float8")
}

func (g *generator) typ() string {
	return g.one(g.number(), g.number(), "text", "text", "bool", "date", "timestamp", "hstore", "jsonb", "text[]")
}

// like is a type that goes with t, or, rarely, any.
func (g *generator) like(t string) string {
	switch {
	case g.IntN(100) == 0:
		return g.typ()
	case strings.Contains("int bigint smallint numeric float8", t) && g.IntN(3) == 0:
		return g.number()
	case t == "timestamp" && g.IntN(3) == 0:
		return "date"
	}
	return t
}

// constant makes one of them, but null, true and false are no constants: where an operand is one of these Postgres
// evaluates less than its rules say, and nothing of the rest.
func (g *generator) constant(t string) string {
	if g.IntN(8) == 0 && t != "hstore" && t != "jsonb" && t != "text[]" {
		return "(t.data->'zz')::" + t
	}
	switch t {
	case "int":
		return g.one("0", "1", "-1", "5", "'7'", "2147483647", "-2147483648", "10")
	case "bigint":
		return g.one("0", "3", "5000000000", "9223372036854775807", "(-9223372036854775807)", "'12'::bigint")
	case "smallint":
		return g.one("0::smallint", "'32767'::int2", "(-5)::smallint")
	case "numeric":
		return g.one("0.0", "1.50", "-2.5", "1e3", "'12.34'::numeric", "99999999999999999999", "0.001")
	case "float8":
		return g.one("0::float8", "1.5::float8", "'-2.5e3'::float8", "1e30::float8", "0.1::float8", "9007199254740993::float8")
	case "text":
		return g.one("'a'", "'1'", "''", "'xx'", "'größer'", "'-0'", `'a\b'`, "'o''b'", "E'x\\ty'")
	case "bool":
		return g.one("(t.id is not null)", "(t.id is null)", "'yes'")
	case "date":
		return g.one("'2024-02-29'::date", "date '2000-01-01'", "'infinity'::date")
	case "timestamp":
		return g.one("'2024-02-29 12:00:00'::timestamp", "timestamp '2000-01-01T00:00:01.5'", "'infinity'::timestamp", "'2024-01-01'")
	case "hstore":
		return g.one("'a=>1'::hstore", "'a=>1, b=>NULL, \"x y\"=>\"q\\\"r\"'::hstore", "''::hstore")
	case "jsonb":
		return g.one(`'{"a": 1}'::jsonb`, `'{"b": {"a": [1, "x"]}}'::jsonb`, "'[]'::jsonb", `'"a\nb"'::jsonb`, "'null'::jsonb", "'[1, 2.50, 1e99]'::jsonb")
	case "text[]":
		return g.one("'{a,b}'::text[]", "array['a', 'n']", "'{}'::text[]", "array['1', null]", `'{"x y",NULL,"a\"b"}'::text[]`)
	}
	panic(t)
}

func (g *generator) value(t string, depth int) string {
	if depth <= 0 {
		return g.leaf(t)
	}
	d := depth - 1
	switch g.IntN(10) {
	case 0:
		return g.leaf(t)
	case 1:
		return g.caseOf(t, d)
	case 2:
		return fmt.Sprintf("coalesce(%s, %s)", g.value(t, d), g.one(g.constant(t), g.value(g.like(t), d)))
	case 3:
		return fmt.Sprintf("nullif(%s, %s)", g.value(t, d), g.one(g.constant(t), g.value(t, d)))
	}
	switch t {
	case "int", "bigint", "smallint":
		return g.integer(t, d)
	case "numeric":
		return g.numeric(d)
	case "float8":
		return g.float(d)
	case "text":
		return g.text(d)
	case "bool":
		return g.boolean(d)
	case "date":
		return g.one("("+g.text(d)+")::date", "("+g.value("timestamp", d)+")::date", "greatest("+g.value("date", d)+", "+g.value("date", d)+")")
	case "timestamp":
		return g.one("("+g.text(d)+")::timestamp", "("+g.value("date", d)+")::timestamp", "least("+g.value("timestamp", d)+", "+g.value("date", d)+")")
	case "hstore":
		return g.one("(t.data - 'a=>1'::hstore)", "slice(t.data, array['a', 'n'])", "(t.data - 'a'::text)", "("+g.value("hstore", d)+" - "+g.value("text[]", d)+")")
	}
	if t == "jsonb" {
		return g.json(d)
	}
	return g.one("akeys("+g.value("hstore", d)+")", "avals("+g.value("hstore", d)+")", "string_to_array("+g.text(d)+", ',')", "(t.data->array['a','zz'])", "array["+g.text(d)+", "+g.text(d)+"]")
}

// json makes a value in JSON.
func (g *generator) json(depth int) string {
	if depth <= 0 {
		return g.one("payload", "t.payload")
	}
	d := depth - 1
	return "(" + g.json(d) + g.one(" -> 'a'", " -> 'b'", " -> 0", " -> (-1)", " #> '{b,a}'", " #> "+g.value("text[]", d), " -> "+g.text(d)) + ")"
}

func (g *generator) integer(t string, d int) string {
	switch g.IntN(12) {
	case 0, 1, 2:
		return "(" + g.value(t, d) + " " + g.one("+", "-", "*", "/", "%") + " " + g.value(t, d) + ")"
	case 3:
		return "(" + g.value(t, d) + " " + g.one("+", "-", "*") + " " + g.value(t, d) + ")"
	case 4:
		return g.one("(- "+g.value(t, d)+")", "abs("+g.value(t, d)+")", "(@ "+g.value(t, d)+")")
	case 5, 6:
		return "(" + g.text(d) + ")::" + t
	case 7:
		return "(" + g.value(g.number(), d) + ")::" + t
	case 8:
		return g.one("greatest", "least") + "(" + g.value(t, d) + ", " + g.value(t, d) + ")"
	case 9:
		return g.one("length("+g.text(d)+")", "octet_length("+g.text(d)+")", "strpos("+g.text(d)+", 'a')", "position('1' in "+g.text(d)+")", "cardinality("+g.value("text[]", d)+")", "array_length("+g.value("text[]", d)+", 1)", "t.received[1]") + "::" + t
	case 10:
		return "(" + g.value(t, d) + " " + g.one("&", "|", "#") + " " + g.value(t, d) + ")"
	}
	return g.one("mod("+g.value(t, d)+", "+g.value(t, d)+")", "("+g.boolean(d)+")::int")
}

func (g *generator) numeric(d int) string {
	switch g.IntN(8) {
	case 0, 1, 2:
		return "(" + g.value("numeric", d) + " " + g.one("+", "-", "*", "/", "%") + " " + g.value(g.one("numeric", "int", "bigint"), d) + ")"
	case 3:
		return g.one("round", "trunc", "ceil", "floor", "sign", "abs", "-") + "(" + g.value("numeric", d) + ")"
	case 4:
		return g.one("round", "trunc") + "(" + g.value(g.one("numeric", "int"), d) + ", " + g.one("0", "2", "-1") + ")"
	case 5:
		return "(" + g.text(d) + ")::numeric" + g.one("", "(5,2)", "(3)")
	case 6:
		return "(" + g.value(g.number(), d) + ")::numeric" + g.one("", "(7,3)")
	}
	return "extract(" + g.one("year", "month", "hour", "epoch", "dow", "second") + " from " + g.value("timestamp", d) + ")"
}

func (g *generator) float(d int) string {
	switch g.IntN(6) {
	case 0, 1:
		return "(" + g.value("float8", d) + " " + g.one("+", "-", "*", "/") + " " + g.value(g.one("float8", "int", "numeric"), d) + ")"
	case 2:
		return g.one("round", "trunc", "ceil", "floor", "sign", "abs", "-") + "(" + g.value("float8", d) + ")"
	case 3:
		return "(" + g.text(d) + ")::float8"
	case 4:
		return "(" + g.value(g.number(), d) + ")::float8"
	}
	return "date_part('" + g.one("day", "minute", "epoch") + "', " + g.value("timestamp", d) + ")"
}

func (g *generator) text(depth int) string {
	if depth <= 0 || g.IntN(3) == 0 {
		return g.leaf("text")
	}
	d := depth - 1
	n := g.one("0", "1", "2", "-1", "5", g.value("int", d))
	switch g.IntN(14) {
	case 11:
		return "(" + g.json(d) + g.one(" ->> 'a'", " ->> 'n'", " ->> 0", " #>> '{b,a}'", " #>> "+g.value("text[]", d)) + ")"
	case 12:
		return "jsonb_typeof(" + g.json(d) + ")"
	case 0, 1:
		return "(" + g.text(d) + " || " + g.text(d) + ")"
	case 2:
		return g.one("lower", "upper", "initcap", "reverse", "md5", "trim", "ltrim") + "(" + g.text(d) + ")"
	case 3:
		return "btrim(" + g.text(d) + ", ' 0x')"
	case 4:
		return g.one("left", "right", "substr") + "(" + g.text(d) + ", " + n + ")"
	case 5:
		return "substring(" + g.text(d) + ", " + n + ", " + g.one("1", "2", g.value("int", d)) + ")"
	case 6:
		return "split_part(" + g.text(d) + ", " + g.one("','", "''", "'-'") + ", " + n + ")"
	case 7:
		return "replace(" + g.text(d) + ", " + g.one("'1'", "''", "'xx'") + ", " + g.one("''", "'22'") + ")"
	case 8:
		return "(" + g.value(g.one("int", "bigint", "numeric", "bool"), d) + ")::" + g.one("text", "varchar", "varchar(2)")
	case 9:
		return "(" + g.value("text[]", d) + ")[" + g.one("1", "2", "0", g.value("int", d)) + "]"
	case 10:
		return "translate(" + g.text(d) + ", '12a', 'x')"
	}
	return "(" + g.value("hstore", d) + " -> " + g.one("'a'", "'n'", g.text(d)) + ")"
}

func (g *generator) caseOf(t string, d int) string {
	if g.IntN(2) == 0 {
		return fmt.Sprintf("case when %s then %s when %s then %s %send", g.boolean(d), g.value(t, d), g.boolean(d), g.one(g.constant(t), g.value(g.like(t), d)), g.one("", "else "+g.value(g.like(t), d)+" "))
	}
	u := g.one("text", "int", "numeric")
	return fmt.Sprintf("case %s when %s then %s when %s then %s %send", g.value(u, d), g.constant(u), g.value(t, d), g.value(u, d), g.value(t, d), g.one("", "else "+g.value(t, d)+" "))
}

var keys = []string{"a", "b", "n", "m", "x", "d", "flag", "zz"}

func (g *generator) leaf(t string) string {
	fetch := fmt.Sprintf("(%s%s->'%s')", g.one("t.", ""), g.one("data", "data", "data", "properties", "headers"), g.one(keys...))
	switch t {
	case "text":
		return g.one(fetch, fetch, fetch, "t.iid")
	case "int", "smallint", "numeric", "float8":
		return fetch + "::" + t
	case "bool":
		return fetch + "::" + t
	case "bigint":
		return g.one("t.id", fetch+"::bigint")
	case "date":
		return g.one(fetch+"::date", "t.added::date")
	case "timestamp":
		return g.one(fetch+"::timestamp", "t.added", "expires", "t.delayed_until")
	case "hstore":
		return g.one("t.data", "properties", "t.headers")
	case "jsonb":
		return g.one("t.payload", "payload", "(payload -> 'a')")
	}
	return g.one("akeys(t.data)", "avals(data)", "string_to_array(t.iid, ',')")
}

// nasty are the values of random messages; odd ones are those that Postgres takes for a number or time in a form
// that selectors count as an error (docs/selectors.md).
var (
	nasty = []string{
		"xx", "", " 12 ", "-0", "+7", "2147483648", "-2147483648", "2147483647", "32768", "9223372036854775807", "9223372036854775808", "0", "1", "2", "-3", "5", "12", "1.5", "2.50", "-2.5", ".5", "5.",
		"1e5", "1E-3", "1e", "e1", "--1", "1 2", "2024-02-29", "2024-02-30", "2023-02-29", "1900-02-29", "2000-02-29 23:59:59.999999", "2024-01-01T10:00", "2024-13-01", "0000-01-01", "2024-01-01 24:00:01", "2024-1-1x",
		"true", "F", "yes", "of", "o", "a", "b", "A,b,,c", "größer ☃", "日本", "%", "_", `\`, `a\b`, "'", `"`, "{a,b}", "a=>1", "\t5\n", "\u00a05", "５", "0.1", "9007199254740993", "-9223372036854775808", "99999999999999999999", "0.00001", "1,2", "-1,5", "null", "NULL",
	}
	odd = []string{"NaN", "Infinity", "-inf", "1e400", "1e-400", "1e150", "infinity", "today", "0x1F", "1_000", "1/2/2024", "Jan 5 2024", "20240101", "12:00", "  2024-01-01", strings.Repeat("0", 70) + "5", strings.Repeat(" ", 70) + "5", strings.Repeat("9", 400), strings.Repeat("x", 70000)}
)

var (
	words = regexp.MustCompile(`'[^']*'|\w+|::|->|[^\w\s]`)
	pool  = words.FindAllString("null true false t iid id $1 current_user select from array row case end like ~ in any interval date timestamp hstore int[] text numeric ( ) [ ] , :: -> ? @> - + 0 1e400 'x' '{}' now count over collate \"C\" is not distinct between and symmetric", -1)
)

// mixed makes a selector with words left out, doubled and swapped: few are still selectors.
func (g *generator) mixed() string {
	w := words.FindAllString(g.boolean(2), -1)
	for range 1 + g.IntN(3) {
		i, j := g.IntN(len(w)), g.IntN(len(w))
		switch g.IntN(4) {
		case 0:
			w[i], w[j] = w[j], w[i]
		case 1:
			w[i] = pool[g.IntN(len(pool))]
		case 2:
			w = slices.Insert(w, i, pool[g.IntN(len(pool))])
		case 3:
			w = slices.Insert(w, i, w[j])
		}
	}
	return strings.Join(w, " ")
}
