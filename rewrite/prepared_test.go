package rewrite

import (
	"slices"
	"strings"
	"testing"

	"mbusproxy/rewrite/plan"
)

// What the values of a prepared text are, and which texts are not prepared: they name what a
// session may change the meaning of.
func TestPrepared(t *testing.T) {
	r := newRewriter(shortFragments{})
	for text, want := range map[string][]string{
		"select mbus4.post('q', 'a=>1')":                                 {"q", "a=>1"},
		"SELECT mbus4.post ( 'q' , data => 'a=>\"it''s\"' ) AS iid ; ":   {"q", `a=>"it's"`},
		"select mbus4.post('q', 'a=>1', null, expires := '2001-01-01')":  {"q", "a=>1", "2001-01-01"},
		"select mbus4.post('q', 'a=>\"ключ\"') -- it's":                  {"q", `a=>"ключ"`},
		"select * from mbus4.consume('q')":                               {"q"},
		"select iid, m.data from \"mbus4\".consume('q', cname => 'c') m": {"q", "c"},
		"select iid as x from mbus4.consume('q')":                        nil,
		"select * from mbus4.consumen('q', amt => 20)":                   {"q", "20"},
		"select * from mbus4.consumen('q', amt => 99999999999)":          nil,
		"select mbus4.complete_message(99999999999)":                     {"99999999999"},
		"select mbus4.complete_message(7)":                               {"7"},
		"select * from mbus4.consumen(amt => 20, qname => 'q') as m":     {"q", "20"},
		"select mbus4.post($1, $2)":                                      nil,
		"select mbus4.post('q', hstore('a', '1'))":                       nil,
		"select mbus4.post('q', 'a=>1'::hstore)":                         nil,
		"select mbus4.post('q', 'a=>1' || 'b')":                          nil,
		"select mbus4.post('q', E'a=>1')":                                nil,
		"select mbus4.post('q', $$a=>1$$)":                               nil,
		"select mbus4.post('q', -1)":                                     nil,
		"select mbus4.post('q', 'a=>1') is null":                         nil,
		"select 1, mbus4.post('q', 'a=>1')":                              nil,
		"select mbus4.post('q', 'a=>1') from t":                          nil,
		"select data->'a' from mbus4.consume('q')":                       nil,
		"select f(iid) from mbus4.consume('q')":                          nil,
		"select * from mbus4.consume('q'), t":                            nil,
		"select * from mbus4.consume('q') where iid > 'a'":               nil,
		"select * from mbus4.consume('q') limit 1":                       nil,
		"select mbus4.create_consumer('q', 'c', 'true')":                 nil,
		"select mbus4.post('q', 'a=>1'); select 1":                       nil,
		"select mbus4.post('q', 'a=>1'); commit":                         nil,
		"(select mbus4.post('q', 'a=>1'))":                               nil,
		"begin; select mbus4.post('q', 'a=>1')":                          nil,
		"explain select mbus4.post('q', 'a=>1')":                         nil,
		"create view v as select mbus4.post('q', 'a=>1')":                nil,
	} {
		p := r.Rewrite(t.Context(), text, utf8Session, testEnv)
		if p == nil {
			t.Errorf("%s is not rewritten", text)
			continue
		}
		made := p.Prepared()
		if made == nil {
			if want != nil {
				t.Errorf("%s is not prepared", text)
			}
			continue
		}
		if want == nil || !slices.Equal(made.Values(), want) {
			t.Errorf("%s: the values are %q, want %q", text, made.Values(), want)
		}
		for _, v := range made.Values() {
			if strings.Contains(made.SQL(), "'"+v+"'") {
				t.Errorf("%s: the value %s stands in %s", text, v, made.SQL())
			}
		}
	}
}

// One statement serves all texts of a skeleton; another session setting, or another database, takes another.
func TestPreparedID(t *testing.T) {
	r := newRewriter(shortFragments{})
	id := func(text string, session plan.Session) uint64 {
		return r.Rewrite(t.Context(), text, session, testEnv).Prepared().ID()
	}
	const text = "select mbus4.post('q', 'a=>1')"
	first := id(text, utf8Session)
	if id("select mbus4.post('w', 'b=>2')", utf8Session) != first || id(text, utf8Session) != first {
		t.Error("texts of one skeleton have several statements")
	}
	escapes := utf8Session
	escapes.EscapeStrings = true
	if id(text, escapes) == first || id("select mbus4.post('q', data => 'a=>1')", utf8Session) == first {
		t.Error("different texts have one statement")
	}
}

// An error about a parameter is one about the literal, with its place; one about the statement
// points into the client's text.
func TestPreparedReport(t *testing.T) {
	r := newRewriter(shortFragments{})
	r.Rewrite(t.Context(), "select mbus4.post('q', 'a=>1')", utf8Session, testEnv)
	const text = "select mbus4.post('a queue', 'a=')"
	p := r.Rewrite(t.Context(), text, utf8Session, testEnv).Prepared()
	for where, at := range map[string]int{
		"unnamed portal parameter $2":                 strings.Index(text, "'a='") + 1,
		"unbenanntes Portal mit Parameter $1 = 'x\n'": strings.Index(text, "'a queue'") + 1,
		"PL/pgSQL function f() line 1\nat $2":         0,
		"SQL statement \"select $1\"":                 0,
		"unnamed portal parameter $3":                 0,
	} {
		rep := plan.Report{Severity: "ERROR", Code: "42601", File: "hstore_io.c", Message: "Unexpected end of string", Where: where}
		p.EditReport(&rep)
		if rep.Position != at || (rep.Where == "") != (at > 0) {
			t.Errorf("%s: at %d of %q, want %d", where, rep.Position, rep.Where, at)
		}
	}
	// Of JSON the server says where in it the mistake is; a dollar in it is no parameter.
	for where, at := range map[string]int{
		"JSON data, line 1: {$1...\nunnamed portal parameter $2 = '...'": strings.Index(text, "'a='") + 1,
		"JSON data, line 1: {$1...":                                      0,
		"JSON data, line 1: $2\nSQL statement \"select $1\"":             0,
	} {
		own, _, _ := strings.Cut(where, "\n")
		rep := plan.Report{Severity: "ERROR", Code: "22P02", File: "jsonfuncs.c", Message: "invalid input syntax for type json", Where: where}
		if p.EditReport(&rep); rep.Position != at || at > 0 && rep.Where != own {
			t.Errorf("%s: at %d of %q, want %d", where, rep.Position, rep.Where, at)
		}
	}
	rep := plan.Report{Severity: "ERROR", Code: "42P01", Message: `relation "mbus4.queue" does not exist`, Position: strings.Index(p.SQL(), "select * from served") + 1}
	if p.EditReport(&rep); rep.Position != strings.Index(text, "mbus4")+1 {
		t.Errorf("an error about the statement is at %d", rep.Position)
	}
}

// Databases that differ do not take each other's plans, nor each other's statements.
func TestPreparedByDatabase(t *testing.T) {
	r := newRewriter(shortFragments{})
	const text = "select mbus4.post('q', 'a=>1')"
	ids := map[uint64]bool{}
	for i := range 12 {
		env := func() (plan.Env, *plan.Refusal) {
			return plan.Env{Ordered: i%2 > 0}, nil
		}
		ids[r.Rewrite(t.Context(), text, utf8Session, env).Prepared().ID()] = true
	}
	if len(ids) != 2 {
		t.Errorf("%d statements for 2 kinds of databases", len(ids))
	}
	if n, _ := counted(t, r.cache); n != 1 {
		t.Errorf("%d entries", n)
	}
}
