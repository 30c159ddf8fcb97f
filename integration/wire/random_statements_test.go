package wire

import (
	"fmt"
	"slices"
	"strings"

	"github.com/jackc/pgx/v5/pgproto3"

	"mbusproxy/integration/internal/frontend"
)

// once is a statement from Parse to Execute, looked at in between.
func (w *callWriter) once() {
	n, portal := w.pick("", "", "a", "b"), w.pick("", "p")
	w.maybe(&pgproto3.Close{ObjectType: 'S', Name: n})
	sql, values := w.text()
	w.add(w.parse(n, sql, values))
	w.maybe(frontend.Flush())
	w.maybe(frontend.DescribeStatement(n))
	w.maybe(&pgproto3.Close{ObjectType: 'P', Name: portal})
	w.add(w.bind(portal, n))
	w.maybe(frontend.DescribePortal(portal))
	w.maybe(frontend.Flush())
	w.execute(portal)
	w.maybe(frontend.DescribePortal(portal))
	if w.oneIn(4) {
		w.execute(portal)
	}
	w.maybe(&pgproto3.Close{ObjectType: 'P', Name: portal})
	w.maybe(frontend.DescribeStatement(n))
	if !w.oneIn(3) {
		w.add(frontend.Sync())
	}
}

// named uses names again, with what they stand for now; some get a new meaning.
func (w *callWriter) named() {
	for range 2 + w.IntN(5) {
		n := w.pick("a", "b", "")
		if w.oneIn(2) {
			w.maybe(frontend.Sync())
			switch w.IntN(6) {
			case 0:
				w.query("deallocate " + w.pick("a", "b", "sql", "all"))
			case 1:
				w.query("discard all")
			case 2:
				w.query("execute sql")
			default:
				w.add(&pgproto3.Close{ObjectType: 'S', Name: n})
			}
			sql, values := w.text()
			w.add(w.parse(n, sql, values))
			w.maybe(frontend.Sync())
		}
		w.add(w.bind("", n))
		w.execute("")
		w.maybe(frontend.DescribeStatement(n))
		if w.oneIn(2) {
			w.add(frontend.Sync())
		}
	}
	w.add(frontend.Sync())
}

// simple is a Query, of several statements at times.
func (w *callWriter) simple() {
	text := func() string {
		for {
			if sql, values := w.text(); values == nil {
				return sql
			}
		}
	}
	sql := text()
	for w.oneIn(3) {
		sql += "; " + text()
	}
	if w.oneIn(8) {
		sql = "select mbus4.run_on_q1('insert into done select ($1).iid, 3')"
	}
	w.add(frontend.Sync())
	w.query(sql)
}

// again sends calls again and again, each when the one before has been answered, as most clients
// do. What the session is and what it has prepared changes in between.
func (w *callWriter) again() {
	w.add(frontend.Sync())
	w.end(true)
	calls := []string{
		"select mbus4.post('q1', 'n=>%d', iid => '%s')", "select iid, data from mbus4.consume('q1')", "select mbus4.is_msg_exists('%s')",
		"select iid, m.data from mbus4.consumen('q1', amt => 2) m;", "select mbus4.post('none', 'n=>%d')", "select iid from mbus4.consumen('q2', amt => '7x%d')",
	}
	w.Shuffle(len(calls), func(i, j int) { calls[i], calls[j] = calls[j], calls[i] })
	for range 6 + w.IntN(12) {
		w.number++
		text := strings.ReplaceAll(strings.ReplaceAll(calls[w.IntN(2)], "%d", fmt.Sprint(w.IntN(300))), "%s", w.pick("m"+fmt.Sprint(w.number), w.iid()))
		if w.oneIn(4) {
			text = w.pick("discard all", "deallocate all", "begin", "begin", "commit", "rollback", "set search_path to pg_temp, public",
				"do $$ begin execute 'deallocate all'; end $$", "set client_encoding to latin1", "set client_encoding to utf8", "select 1/0",
				"set standard_conforming_strings to off", "reset all", "prepare sql as select mbus4.is_msg_exists('a1')")
		}
		w.add(&pgproto3.Query{String: text})
		if w.oneIn(12) {
			w.add(&pgproto3.Query{String: text})
		}
		w.end(true)
		if w.oneIn(8) {
			w.add(frontend.Parse("", "select 7"), frontend.Bind("", ""), frontend.Sync())
			w.end(true)
		}
		if w.oneIn(8) {
			w.add(frontend.DescribeStatement(""), frontend.Sync())
			w.end(true)
		}
	}
}

// hidden has a function deallocate all statements, outside of a block. The next call is one that
// the proxy runs by a statement which it has prepared, and notices that; so none is prepared from
// then on.
func (w *callWriter) hidden() {
	w.add(frontend.Sync(), &pgproto3.Query{String: "rollback"})
	w.end(true)
	text := w.pick("select mbus4.is_msg_exists('a1')", "select iid, data from mbus4.consume('q1')", "select mbus4.post('q1', 'n=>3', iid => 'hidden')")
	for range 4 {
		w.add(&pgproto3.Query{String: text})
		w.end(true)
	}
	w.add(&pgproto3.Query{String: "select public.hidden()"})
	w.end(true)
	w.add(&pgproto3.Query{String: text})
}

// unnamed parses calls again and again as the unnamed statement, as drivers do that prepare
// nothing, and does something else with it, in the same turn or later.
func (w *callWriter) unnamed() {
	w.add(frontend.Sync())
	w.end(true)
	calls := [][]string{
		{"select mbus4.post('q1', $1, iid => $2)", "n=>1", ""},
		{"select iid, data from mbus4.consumen($1, amt => 2)", "q1"},
		{"select mbus4.is_msg_exists($1)", "a1"},
		{"select iid, data from mbus4.consume('q1')"},
		{"select mbus4.post($1, 'n=>7', iid => 'one')", "none"}, // with an iid, for it may be bound with the value of another call
	}
	w.Shuffle(len(calls), func(i, j int) { calls[i], calls[j] = calls[j], calls[i] })
	for range 8 + w.IntN(12) {
		call := calls[w.IntN(2)]
		w.add(w.parse("", call[0], slices.Clone(call[1:])))
		for range 1 + w.IntN(4) {
			if v := w.values[""]; len(v) > 1 {
				w.number++
				v[1] = fmt.Sprint("m", w.number)
			}
			switch w.IntN(16) {
			case 0:
				w.add(frontend.DescribeStatement(""))
			case 1:
				w.query(w.pick("begin", "rollback", "select 1/0", "discard all", "deallocate all", "selct"))
			case 2:
				sql, values := w.text()
				w.add(w.parse("", sql, values))
			case 3:
				w.add(&pgproto3.Close{ObjectType: 'S'})
			case 4:
				w.add(frontend.Bind("", "none"))
			case 5:
				sql := w.pick("begin", "rollback", "select 1/0", "discard all", "deallocate all")
				w.add(&pgproto3.Close{ObjectType: 'S', Name: "u"}, frontend.Parse("u", sql), frontend.Bind("u", "u"), frontend.Execute("u", 0))
			default:
				w.add(w.bind("", ""), frontend.Execute("", 0))
			}
			w.pause()
		}
		if !w.oneIn(4) {
			w.add(frontend.Sync())
			w.end(true)
		}
	}
	w.add(frontend.Sync())
	w.query("rollback")
}

// piecewise reads a set of messages by and by, in a transaction.
func (w *callWriter) piecewise() {
	portal := w.pick("", "p")
	w.add(frontend.Sync())
	w.query("begin")
	w.add(&pgproto3.Close{ObjectType: 'S'}, &pgproto3.Close{ObjectType: 'P', Name: portal})
	w.add(w.parse("", "select iid, data from mbus4.consumen('q1', amt => 4)", nil), w.bind(portal, ""))
	w.maybe(frontend.DescribePortal(portal))
	w.add(frontend.Execute(portal, 1), frontend.Sync())
	if portal != "" && w.oneIn(2) {
		w.add(frontend.Sync())
		w.query("savepoint s")
		w.query("select mbus4.post('q1', 'n=>1', iid => 'between')")
	}
	for range 1 + w.IntN(4) {
		if portal != "" && w.oneIn(3) {
			w.add(w.parse("", "select mbus4.is_msg_exists('a1')", nil), w.bind("", ""), frontend.Execute("", 0))
		}
		w.execute(portal)
		if w.oneIn(5) {
			w.add(frontend.Execute("none", 0), frontend.Sync())
			w.query("rollback to s")
		}
	}
	w.add(frontend.Sync())
	w.query(w.pick("commit", "commit", "rollback"))
	w.maybe(frontend.Execute(portal, 0))
}

// cursor reads calls through a cursor that may be held.
func (w *callWriter) cursor() {
	w.add(frontend.Sync())
	w.query("rollback")
	w.query("close all")
	w.query("begin")
	w.query(fmt.Sprintf("declare c %s cursor %s hold for %s", w.pick("no scroll", "no scroll", ""),
		w.pick("with", "with", "without"), w.pick("select iid, data from mbus4.consumen('q1', amt => 4)",
			"select s, mbus4.is_msg_exists('a' || s) from generate_series(1, 7) s", "select 1/(3 - s) from generate_series(1, 5) s")))
	look := func() {
		for range w.IntN(3) {
			switch w.IntN(4) {
			case 0:
				w.query("fetch 2 from c")
			case 1:
				w.query("fetch all from c")
			case 2:
				w.execute("c")
				w.add(frontend.Sync())
			default:
				w.add(frontend.DescribePortal("c"), frontend.Sync())
			}
		}
	}
	look()
	w.query(w.pick("commit", "commit", "rollback"))
	look()
	w.maybe(frontend.Flush())
	sql, _ := w.call()
	w.query("explain (costs off) execute none; " + sql)
	look()
	switch w.IntN(3) {
	case 0:
		w.query("close c")
	case 1:
		w.add(&pgproto3.Close{ObjectType: 'P', Name: "c"}, frontend.Sync())
	}
}

// transaction opens, marks or ends one.
func (w *callWriter) transaction() {
	w.maybe(frontend.Sync())
	sql := w.pick("begin", "begin", "commit", "rollback", "savepoint s", "rollback to s")
	if w.oneIn(2) {
		w.query(sql)
		return
	}
	w.add(w.parse("", sql, nil), w.bind("", ""), frontend.Execute("", 0))
	w.maybe(frontend.Sync())
}

// noise is what fits nothing before it.
func (w *callWriter) noise() {
	switch w.IntN(7) {
	case 0:
		w.add(frontend.Sync())
	case 1:
		w.add(frontend.Flush())
	case 2:
		w.add(frontend.DescribeStatement(w.pick("a", "b", "")))
	case 3:
		w.add(frontend.DescribePortal(w.pick("p", "")))
	case 4:
		w.add(&pgproto3.Close{ObjectType: w.pick("S", "P")[0], Name: w.pick("a", "b", "p", "")})
	case 5:
		w.add(&pgproto3.CopyData{Data: []byte("stray")})
	default:
		w.add(&pgproto3.FunctionCall{Function: 1610}, &pgproto3.Close{ObjectType: 'P'}) // pi()
	}
}

// burst adds a hundred statements and more, all sent before a reply is read.
func (w *callWriter) burst() {
	if !w.oneIn(3) {
		return
	}
	w.add(frontend.Sync())
	w.query("rollback")
	for range 100 + w.IntN(60) {
		sql, values := w.text()
		switch w.IntN(8) {
		case 0:
			w.maybe(frontend.Sync())
			if values == nil {
				w.query(sql)
			}
		case 1:
			w.add(w.parse("a", sql, values), w.bind("", "a"), frontend.Execute("", 0), &pgproto3.Close{ObjectType: 'S', Name: "a"})
		default:
			w.add(w.parse("", sql, values), w.bind("", ""), frontend.DescribePortal(""), frontend.Execute("", 0))
		}
		if w.oneIn(4) {
			w.add(frontend.Sync())
		}
	}
	w.add(frontend.Sync())
}
