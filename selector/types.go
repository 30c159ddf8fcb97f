package selector

import (
	"strings"

	pg_query "github.com/pganalyze/pg_query_go/v6"
)

// typ is a type of the language; with the bit array set, the type of arrays of it.
type typ uint8

const (
	unknown typ = iota // that of a string or null whose type is not known yet
	boolean
	int2
	int4
	int8
	numeric
	float8
	text
	date
	timestamp
	hstore
	jsonb

	array typ = 0x40
)

// types holds for each type what Postgres shows and what it is called in pg_catalog; hstore lives elsewhere.
var types = map[typ]struct{ shown, name string }{
	unknown:   {"unknown", ""},
	boolean:   {"boolean", "bool"},
	int2:      {"smallint", "int2"},
	int4:      {"integer", "int4"},
	int8:      {"bigint", "int8"},
	numeric:   {"numeric", "numeric"},
	float8:    {"double precision", "float8"},
	text:      {"text", "text"},
	date:      {"date", "date"},
	timestamp: {"timestamp without time zone", "timestamp"},
	hstore:    {"hstore", "hstore"},
	jsonb:     {"jsonb", "jsonb"},
}

func (t typ) elem() typ      { return t &^ array }
func (t typ) isArray() bool  { return t&array != 0 }
func (t typ) isInt() bool    { return t == int2 || t == int4 || t == int8 }
func (t typ) isNumber() bool { return t >= int2 && t <= float8 }
func (t typ) isTime() bool   { return t == date || t == timestamp }

// holds reports whether values of the type hold others by their keys: there are no arrays of them,
// and they are equal or not.
func (t typ) holds() bool { return t == hstore || t == jsonb }

func (t typ) String() string {
	s := types[t.elem()].shown
	if t.isArray() {
		s += "[]"
	}
	return s
}

// sql is the type's name in full.
func (c *compiler) sql(t typ) string {
	s := "pg_catalog." + types[t.elem()].name
	if t.elem() == hstore {
		s = c.env.written() + ".hstore"
	}
	if t.isArray() {
		s += "[]"
	}
	return s
}

// typeNames are the names that clients write; the grammar turns the words of SQL (integer, double precision)
// into names of pg_catalog.
var typeNames = map[string]typ{
	"bool": boolean, "int2": int2, "int4": int4, "int8": int8, "numeric": numeric, "float8": float8,
	"text": text, "varchar": text, "date": date, "timestamp": timestamp, "jsonb": jsonb,
}

// typeOf reads a type's name with its modifiers, which are nil for most.
func (c *compiler) typeOf(n *pg_query.TypeName) (typ, []int, *Error) {
	at := offset(n.Location)
	shown := names(n.Names)
	parts := nameList(n.Names)
	var t typ
	switch {
	case len(parts) == 2 && parts[0] == "pg_catalog":
		t = typeNames[parts[1]]
	case parts[len(parts)-1] == "hstore" && (len(parts) == 1 || len(parts) == 2 && parts[0] == c.hstoreSchema):
		t = hstore
	case len(parts) == 1:
		t = typeNames[parts[0]]
	}
	switch {
	case t == unknown || n.Setof || n.PctType:
		return 0, nil, refuse(at, codeUndefinedType, hintTypes, "the type %s is not allowed in a selector", strings.TrimPrefix(shown, "pg_catalog."))
	case len(n.ArrayBounds) > 1 || len(n.ArrayBounds) == 1 && t.holds():
		return 0, nil, refuse(at, codeUndefinedType, hintTypes, "the type %s is not allowed in a selector", strings.TrimPrefix(shown, "pg_catalog.")+strings.Repeat("[]", len(n.ArrayBounds)))
	case len(n.ArrayBounds) == 1:
		t |= array
	}
	var mods []int
	for _, m := range n.Typmods {
		i := m.GetAConst().GetIval()
		if i == nil || t != numeric && (t != text || parts[len(parts)-1] != "varchar") {
			return 0, nil, refuse(at, codeUndefinedType, hintTypes, "a modifier of the type %s is not allowed in a selector", t)
		}
		mods = append(mods, int(i.Ival))
	}
	return t, mods, nil
}

// nameList are the parts of a name.
func nameList(l []*pg_query.Node) []string {
	out := make([]string, len(l))
	for i, n := range l {
		out[i] = n.GetString_().GetSval()
	}
	return out
}

func names(l []*pg_query.Node) string { return strings.Join(nameList(l), ".") }
