package statements

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5/pgproto3"

	"mbusproxy/internal/wiretest"

	"mbusproxy/integration/internal/frontend"
	"mbusproxy/integration/internal/harness"
)

// rawFrame is a message with any body.
type rawFrame struct {
	typ  byte
	body string
}

func (rawFrame) Frontend()           {}
func (rawFrame) Decode([]byte) error { return nil }
func (m rawFrame) String() string    { return fmt.Sprintf("%c %.40q", m.typ, m.body) }
func (m rawFrame) size() (length []byte) {
	n := len(m.body) + 4
	return []byte{byte(n >> 24), byte(n >> 16), byte(n >> 8), byte(n)}
}

func (m rawFrame) Encode(dst []byte) ([]byte, error) {
	return append(append(append(dst, m.typ), m.size()...), m.body...), nil
}

// Whatever a client does with its unnamed statement, after it has parsed the same text so often
// that the server gets an empty text in its place: it gets the replies, byte by byte, that it gets
// through a proxy which prepares nothing.
func TestUnnamedAgain(t *testing.T) {
	t.Parallel()
	database := harness.NewQueueDatabase(t, "q", "w")
	server := harness.Connect(t, harness.Direct(), database)
	harness.Ask(t, server, "create table copied (x text)")
	never := harness.NewProxy(t, "--no-prepare").Endpoint
	for n, c := range []struct {
		text   string
		types  []uint32
		values []any
	}{
		{"select mbus4.post($1, $2, iid => $3)", []uint32{0, 0, 25}, []any{"q", "a=>1", "m"}},
		{"select iid, data from mbus4.consume('w')", nil, nil},
		{"select mbus4.is_msg_exists($1) as there", nil, []any{"w1"}},
		{"select mbus4.post($1, 'a=>1')", nil, []any{"none"}},
		{"select nonesuch from mbus4.consume($1)", nil, []any{"w"}},
	} {
		for i, turns := range unnamedScripts(&pgproto3.Parse{Query: c.text, ParameterOIDs: c.types}, c.values) {
			if i%62 != 12*n && !harness.Long() {
				continue
			}
			var want [][]byte
			for _, e := range []harness.Endpoint{never, harness.Proxied()} {
				harness.Ask(t, server, "delete from mbus4.message; delete from copied")
				s := frontend.Connect(t, e, database)
				got := wiretest.Play(s.Hijacked.Conn, turns, rand.New(rand.NewPCG(1, 2)))
				got = append(got, []byte("D"+harness.Ask(t, server, "select iid, data from mbus4.message order by 1; select * from copied")))
				if want == nil {
					want = got
				} else if at := wiretest.Difference(want, got, sameReply); at >= 0 {
					t.Errorf("%s, script %d:\n%s\nwithout prepared statements:\n%s\nwith them:\n%s", c.text, i, turns[5:], wiretest.Around(want, at), wiretest.Around(got, at))
				}
			}
		}
	}
}

// sameReply compares two replies. Of the place in the server's source that an error names it takes
// no note: in a failed transaction the proxy asks with a Describe whether there is an unnamed
// statement.
func sameReply(one, other []byte) bool {
	if one[0] == 'E' && other[0] == 'E' {
		one, _, _ = bytes.Cut(one[5:], []byte("\x00F"))
		other, _, _ = bytes.Cut(other[5:], []byte("\x00F"))
	}
	return bytes.Equal(one, other)
}

// unnamedScripts are scripts that parse the unnamed statement again and again, and then do something else.
func unnamedScripts(parse pgproto3.FrontendMessage, values []any) (scripts []wiretest.Script) {
	sync, flush := frontend.Sync(), frontend.Flush()
	bind, long := frontend.Bind("", "", values...), frontend.Bind("", "", values...)
	if n := len(values); n > 0 {
		long = frontend.Bind("", "", append(slices.Clone(values[:n-1]), strings.Repeat("x", 50_000))...)
	}
	tooMany := frontend.Bind("", "", append(slices.Clone(values), "one too many")...)
	execute, describe := frontend.Execute("", 0), frontend.DescribeStatement("")
	once := []pgproto3.FrontendMessage{parse, bind, frontend.DescribePortal(""), execute, sync}
	other, none := frontend.Parse("", "select 'another'"), frontend.Bind("", "none")
	wrong, query := frontend.Parse("", "selct"), &pgproto3.Query{String: "select 1"}
	gone := &pgproto3.Close{ObjectType: 'S'}
	named := func(n string) []pgproto3.FrontendMessage {
		return []pgproto3.FrontendMessage{&pgproto3.Close{ObjectType: 'P', Name: n}, frontend.Bind(n, n), frontend.Execute(n, 0)}
	}
	first := []pgproto3.FrontendMessage{&pgproto3.Query{String: "select mbus4.post('w', 'a=>1', iid => 'w' || n) from generate_series(1, 9) n"}}
	for _, n := range []string{"begin", "rollback", "select 1/0", "deallocate all", "discard all", "copy copied from stdin", "savepoint s", "rollback to s"} {
		first = append(first, frontend.Parse(n, n), sync)
	}
	begin := wiretest.Script{{Messages: first, Wait: true}}
	for range 4 {
		begin = append(begin, wiretest.Turn{Messages: once, Wait: true})
	}
	// A nil ends a turn and waits, a string is the name of a statement to run.
	add := func(what ...any) {
		script, turn := slices.Clone(begin), wiretest.Turn{}
		for _, w := range append(what, nil) {
			switch m := w.(type) {
			case nil:
				turn.Wait = true
				script = append(script, turn)
				turn = wiretest.Turn{}
			case pgproto3.FrontendMessage:
				turn.Messages = append(turn.Messages, m)
			case []pgproto3.FrontendMessage:
				turn.Messages = append(turn.Messages, m...)
			case string:
				turn.Messages = append(turn.Messages, named(m)...)
			}
		}
		end := []pgproto3.FrontendMessage{sync, &pgproto3.Query{String: "rollback"}}
		script = append(script, wiretest.Turn{Messages: end, Wait: true}, wiretest.Turn{Messages: once, Wait: true}, wiretest.Turn{Messages: []pgproto3.FrontendMessage{&pgproto3.Terminate{}}})
		scripts = append(scripts, script)
	}
	// What is usual.
	add(once, nil, once, nil, parse, describe, sync, nil, bind, execute, sync, nil, bind, execute, sync)
	add(parse, describe, flush, nil, bind, execute, sync, nil, describe, sync)
	add(parse, describe, bind, describe, execute, describe, sync, nil, describe, bind, sync, nil, execute, sync)
	add(parse, bind, execute, bind, execute, bind, execute, sync, nil, bind, execute, sync, nil, bind, execute, sync)
	add(parse, bind, frontend.Bind("p", "", values...), execute, frontend.Execute("p", 0), sync)
	add(parse, sync, bind, execute, sync, parse, sync, bind, execute, sync, nil, bind, execute, sync, bind, execute, sync)
	add(once, once, once, nil, bind, execute, sync)
	add(parse, sync, nil, parse, sync, nil, bind, execute, sync, bind, execute, sync)
	// Another statement takes its place, or none.
	for _, x := range []pgproto3.FrontendMessage{
		other, wrong, gone, query, &pgproto3.Query{}, &pgproto3.Query{String: "selct"}, &pgproto3.FunctionCall{Function: 1610},
		frontend.Parse("", ""), parse,
		rawFrame{'P', "\x00select 'another'\x00"},
		rawFrame{'P', "\x00select 'another'\x00\x00\x00more"},
		rawFrame{'P', "\x00select '\xff'\x00\x00\x00"},
		rawFrame{'Q', "select '\xff'\x00"},
		rawFrame{'Q', "select 1"},
		rawFrame{'C', "S\x00more"},
		frontend.Parse("", "select mbus4.peek('none')"), frontend.Parse("", "select 'another'"+strings.Repeat(" ", 40_000)),
		&pgproto3.Query{String: "select mbus4.peek('none')"}, frontend.Parse("n", "select 'named'"), &pgproto3.Query{String: "deallocate all"},
	} {
		zero := frontend.Bind("", "")
		for _, use := range []pgproto3.FrontendMessage{bind, zero, describe} {
			if len(values) == 0 && use == zero {
				continue
			}
			add(parse, sync, nil, x, sync, nil, use, sync, nil, use, execute, sync)
			add(parse, sync, nil, x, sync, use, execute, sync, use, execute, sync)
			add(parse, sync, x, sync, use, execute, sync, nil, use, execute, sync)
			add(parse, x, use, execute, sync, nil, use, execute, sync)
			add(parse, bind, execute, x, use, execute, sync, nil, use, execute, sync)
			add(parse, bind, execute, bind, x, use, execute, sync, nil, use, execute, sync)
			// It is skipped.
			add(parse, sync, nil, none, x, sync, nil, use, execute, sync)
			add(parse, sync, none, x, sync, use, execute, sync, nil, use, execute, sync)
			add(parse, none, x, flush, nil, x, use, sync, nil, use, execute, sync)
			add(parse, bind, "select 1/0", x, use, sync, use, execute, sync)
			if use == zero {
				continue // an error all the same, but another one
			}
			// In a block that has failed.
			add("begin", sync, nil, parse, sync, nil, "select 1/0", sync, nil, x, sync, nil, use, sync, nil, "rollback", sync, nil, use, execute, sync)
			add("begin", sync, nil, parse, sync, "select 1/0", sync, x, sync, use, sync, "rollback", sync, use, execute, sync)
		}
	}
	// What the client does in between.
	for _, n := range []string{"begin", "rollback", "select 1/0", "deallocate all", "discard all"} {
		add(parse, sync, nil, n, sync, nil, bind, execute, sync, nil, describe, sync, nil, once)
		add(parse, sync, nil, n, bind, execute, sync, nil, bind, execute, sync)
		add(parse, bind, execute, n, bind, execute, sync, nil, bind, execute, sync)
		add(parse, sync, n, sync, bind, execute, sync, nil, bind, execute, sync)
		add(parse, n, bind, execute, flush, nil, bind, execute, sync)
		add("begin", sync, nil, parse, sync, nil, n, sync, nil, bind, execute, sync, nil, bind, sync)
		add("begin", sync, nil, parse, sync, nil, "savepoint s", sync, nil, n, sync, nil, "rollback to s", sync, nil, bind, execute, sync)
	}
	add("begin", sync, nil, parse, sync, nil, "select 1/0", sync, nil, tooMany, sync, nil, tooMany, sync, nil, describe, sync, nil, bind, sync)
	add(parse, tooMany, execute, sync, nil, tooMany, sync, nil, bind, execute, sync)
	add(parse, long, execute, sync, nil, long, execute, sync, nil, bind, execute, long, execute, sync, nil, bind, execute, sync)
	// Messages that are not well formed.
	for _, m := range []rawFrame{{'B', "\x00"}, {'B', "\x00\x00"}, {'B', "\x00\x00\x00\x00\x00\x05"}, {'D', "S"}, {'D', "S\x00more"}, {'D', "x\x00"}, {'D', ""}, {'B', strings.Repeat("p", 40_000) + "\x00\x00\x00\x00\x00\x00\x00\x00"}} {
		add(parse, sync, nil, m, sync, nil, bind, execute, sync)
		add(parse, m, sync, nil, describe, sync)
		add(parse, bind, execute, m, sync, bind, execute, sync)
	}
	// COPY.
	data := []pgproto3.FrontendMessage{&pgproto3.CopyData{Data: []byte("row\n")}, &pgproto3.CopyDone{}}
	add(parse, sync, nil, "copy copied from stdin", data, sync, nil, bind, execute, sync)
	add(parse, sync, nil, "copy copied from stdin", data, bind, execute, sync, nil, bind, execute, sync)
	add(parse, sync, nil, &pgproto3.Query{String: "copy copied from stdin"}, data, bind, sync, nil, describe, sync)
	return scripts
}

// A statement that stands for the unnamed one follows what the session and the schema become.
func TestUnnamedFollowsTheSession(t *testing.T) {
	t.Parallel()
	database := harness.NewQueueDatabase(t, "q")
	conn, server := harness.Connect(t, harness.Proxied(), database), harness.Connect(t, harness.Direct(), database)
	// The literals of a text are read in the encoding that the session has now, and with its backslashes.
	post := "select mbus4.post('q', 'a=>\xc3\xa4', iid => $1)"
	backslash := `select mbus4.post('q', 'a=>"\\\\x"', iid => $1)`
	for _, s := range []struct{ set, text, want string }{
		{"set client_encoding to utf8", post, `"a"=>"ä"`},
		{"set client_encoding to latin1", post, `"a"=>"Ã¤"`},
		{"set client_encoding to utf8", post, `"a"=>"ä"`},
		{"set standard_conforming_strings to on", backslash, `"a"=>"\\\\x"`},
		{"set standard_conforming_strings to off", backslash, `"a"=>"\\x"`},
	} {
		harness.Ask(t, conn, s.set)
		for range 4 {
			harness.Ask(t, conn, s.text, "m")
			harness.Want(t, server, s.want, "select data from mbus4.message")
			harness.Ask(t, server, "delete from mbus4.message")
		}
	}
	harness.Ask(t, conn, "reset all")
	const call, there = "select mbus4.post('q', 'a=>1', iid => $1)", "select mbus4.is_msg_exists($1)"
	use := func(want string) {
		t.Helper()
		for range 4 {
			harness.Want(t, conn, "m", call, "m")
			harness.Want(t, conn, want, there, "m")
			harness.Ask(t, server, "delete from mbus4.message")
		}
	}
	use("t")
	harness.Ask(t, conn, "create schema mine; create table mine.message (x int); create table mine.consumer (x int); set search_path to mine, public")
	use("t")
	for _, gone := range []string{"discard all", "deallocate all", "do $$ begin execute 'deallocate all'; end $$"} {
		harness.Ask(t, conn, gone)
		use("t")
	}
	harness.Ask(t, server, "drop schema mbus4 cascade")
	if _, err := harness.Query(harness.Context(t), conn, call, "m"); err == nil {
		t.Error("a call without the schema succeeded")
	}
	if out, err := harness.Init(t, database); err != nil {
		t.Fatal(out, err)
	}
	harness.Ask(t, conn, "select mbus4.create_queue('q', 1)")
	use("t")
}
