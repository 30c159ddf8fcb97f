package proxy

import (
	"fmt"
	"math/rand/v2"
	"strings"

	"github.com/jackc/pgx/v5/pgproto3"

	"mbusproxy/internal/wiretest"
	"mbusproxy/proxy/internal/proxytest"
)

// writer makes up a script. What SQL's EXECUTE executes has a name of its own, for a statement that executes
// itself crashes Postgres 15.
type writer struct {
	*rand.Rand
	steps    bool // there are statements with steps, and what may end in names.ErrUnclear is left out
	script   wiretest.Script
	messages []pgproto3.FrontendMessage // of the turn under way
}

// randomScript makes a script of blocks, between which the client may wait.
func randomScript(rnd *rand.Rand, steps bool) wiretest.Script {
	w := &writer{Rand: rnd, steps: steps}
	blocks := []func(){
		w.single, w.single, w.single, w.query, w.extended, w.extended, w.limited, w.held, w.renamed, w.copied, w.burst,
	}
	for range 3 + w.IntN(25) {
		blocks[w.IntN(len(blocks))]()
		w.pause()
	}
	w.add(proxytest.Sync(), &pgproto3.Query{String: "select 'end'"}, &pgproto3.Terminate{})
	w.end(false)
	return w.script
}

func (w *writer) add(m ...pgproto3.FrontendMessage) { w.messages = append(w.messages, m...) }

func (w *writer) end(wait bool) {
	w.script = append(w.script, wiretest.Turn{Messages: w.messages, Wait: wait})
	w.messages = nil
}

// pause may end the turn.
func (w *writer) pause() {
	switch w.IntN(4) {
	case 0:
		w.add(&pgproto3.Flush{})
		w.end(true)
	case 1:
		w.add(proxytest.Sync())
		w.end(true)
	case 2:
		w.end(false)
	}
}

func (w *writer) pick(from ...string) string { return from[w.IntN(len(from))] }

func (w *writer) oneIn(n int) bool { return w.IntN(n) == 0 }

func (w *writer) maybe(m ...pgproto3.FrontendMessage) {
	if w.oneIn(4) {
		w.add(m...)
	}
}

// statementName and portalName draw from few, so that they meet. Cursors of SQL are portals too.
func (w *writer) statementName() string { return w.pick("", "", "a", "b") }
func (w *writer) portalName() string    { return w.pick("", "", "a", "b") }

// mark may make a text one for the Rewriter.
func (w *writer) mark(sql string) string {
	if w.oneIn(3) {
		return "/*mbus4*/ " + sql
	}
	return sql
}

// text is a statement of any kind.
func (w *writer) text() string {
	if w.steps && w.oneIn(3) {
		return w.pick(proxytest.MarkLate+" select s from generate_series(1, 3) s", proxytest.MarkLate+" select 1/s as d from generate_series(0, 3) s",
			proxytest.MarkLate+" select nix from generate_series(1, 3) s", proxytest.MarkHide+" select 1", proxytest.MarkHide+" select 1/0", proxytest.MarkHide+" selct")
	}
	if !w.steps && w.oneIn(5) { // by which SQL would run late statements without their steps
		return w.mark(w.pick("execute c", "deallocate c",
			"fetch 2 from a", "fetch backward 1 from b", "move 1 in a", "fetch all from b"))
	}
	return w.mark(w.pick(
		"select 1", "select generate_series(1, 5)", "select * from nowhere", "selct 1", "", "select 1/0", "select 'ü', nix",
		"begin", "commit", "rollback", "savepoint s", "rollback to s", "begin isolation level serializable",
		"deallocate all", "discard all", "deallocate a", "deallocate prepare b", "close all", "close a",
		"prepare a as select 'prepared'", "prepare c as select 'prepared'", "prepare b as select 1; select 2",
		"declare a cursor for select generate_series(1, 5)", "declare b scroll cursor with hold for select 1/(3 - s) from generate_series(1, 5) s",
		"do $$ begin raise notice 'hello'; end $$", "set client_encoding to latin1", "set client_encoding to utf8",
		w.deferred(), "insert into items values (1, 'one') returning id, name", "delete from items",
		"listen news", "notify news, 'extra'", "unlisten *", "explain (costs off) select 1", "show server_encoding",
	))
}

// deferred is a statement whose error comes with the commit. With a hidden statement behind it a Query
// commits later than the client thinks, which shows in the order of that error and the completion; plans of
// the Rewriter put what is hidden before.
func (w *writer) deferred() string {
	if w.steps {
		return "select 8"
	}
	return "insert into deferred values (1), (1)"
}

// simple adds a Query. Postgres 15 crashes when the unnamed portal that a failed Query has left in a
// transaction is executed, so the portal is closed behind it. From 18 on a Query behind messages without a Sync
// leaves their transaction open, unless it is of several statements, as one with a hidden statement is.
func (w *writer) simple(sql string) {
	if w.steps && (actsOnNames(sql) || strings.Contains(sql, proxytest.MarkHide)) {
		w.add(proxytest.Sync())
	}
	w.add(&pgproto3.Query{String: sql}, &pgproto3.Close{ObjectType: 'P'})
}

func (w *writer) query() {
	sql := w.text()
	for w.oneIn(3) {
		sql += "; " + w.text()
	}
	w.simple(sql)
}

// run is a statement without a result to look at, in either protocol.
func (w *writer) run(sql string) {
	if w.oneIn(2) {
		w.simple(sql)
		return
	}
	w.add(proxytest.Parse("run", sql), proxytest.Bind("run", "run"), proxytest.Execute("run"), proxytest.Sync(),
		&pgproto3.Close{ObjectType: 'S', Name: "run"}, &pgproto3.Close{ObjectType: 'P', Name: "run"}, proxytest.Sync())
}

// single adds a message that may fit nothing before it.
func (w *writer) single() {
	for range 1 + w.IntN(6) {
		switch w.IntN(12) {
		case 0, 1:
			w.add(&pgproto3.Parse{Name: w.statementName(), Query: w.text()})
		case 2:
			w.add(&pgproto3.Parse{Name: "c", Query: w.mark(w.pick("select 'c'", "select 1/0", w.deferred()))})
		case 3, 4:
			w.add(&pgproto3.Bind{DestinationPortal: w.portalName(), PreparedStatement: w.statementName()})
		case 5, 6:
			w.add(w.execute(w.portalName()))
		case 7:
			w.add(w.describe())
		case 8:
			w.add(w.close())
		case 9, 10:
			w.add(proxytest.Sync())
		default:
			switch w.IntN(4) {
			case 0:
				w.add(&pgproto3.FunctionCall{Function: 1610}, &pgproto3.Close{ObjectType: 'P'}) // pi()
			case 1:
				w.add(&pgproto3.Flush{})
			case 2:
				w.add(&pgproto3.CopyDone{}) // stray
			default:
				w.add(&pgproto3.CopyData{Data: []byte("stray")})
			}
		}
	}
}

func (w *writer) execute(portal string) pgproto3.FrontendMessage {
	return &pgproto3.Execute{Portal: portal, MaxRows: uint32(w.IntN(4))}
}

func (w *writer) describe() pgproto3.FrontendMessage {
	return &pgproto3.Describe{ObjectType: w.pick("S", "P")[0], Name: w.statementName()}
}

func (w *writer) close() pgproto3.FrontendMessage {
	return &pgproto3.Close{ObjectType: w.pick("S", "P")[0], Name: w.statementName()}
}

// extended adds a statement in all its stages, each of which may be repeated, looked at or left out.
func (w *writer) extended() {
	n, portal := w.statementName(), w.portalName()
	w.maybe(&pgproto3.Close{ObjectType: 'S', Name: n})
	w.maybe(&pgproto3.Describe{ObjectType: 'S', Name: n})
	w.add(&pgproto3.Parse{Name: n, Query: w.text()})
	w.maybe(proxytest.Sync())
	w.maybe(&pgproto3.Describe{ObjectType: 'S', Name: n})
	w.maybe(&pgproto3.Close{ObjectType: 'P', Name: portal})
	w.add(&pgproto3.Bind{DestinationPortal: portal, PreparedStatement: n})
	w.maybe(&pgproto3.Flush{})
	w.maybe(&pgproto3.Describe{ObjectType: 'P', Name: portal})
	w.add(w.execute(portal))
	w.maybe(&pgproto3.Describe{ObjectType: 'P', Name: portal})
	w.maybe(w.execute(portal))
	w.maybe(w.close())
	w.maybe(&pgproto3.Describe{ObjectType: 'P', Name: portal})
	if !w.oneIn(3) {
		w.add(proxytest.Sync())
	}
}

// limited adds a portal of a transaction that is executed piece by piece, with Syncs, errors and
// savepoints between the pieces.
func (w *writer) limited() {
	n, portal := w.statementName(), w.portalName()
	w.add(proxytest.Sync())
	w.run("rollback")
	w.run("begin")
	w.maybe(&pgproto3.Close{ObjectType: 'S', Name: n}, &pgproto3.Close{ObjectType: 'P', Name: portal})
	text := w.mark("select s, 'row' from generate_series(1, 7) s")
	if w.steps && w.oneIn(2) {
		text = proxytest.MarkLate + " select s from generate_series(1, 3) s"
	}
	w.add(proxytest.Parse(n, text), proxytest.Bind(portal, n))
	early := w.oneIn(2)
	if early {
		w.add(w.execute(portal), proxytest.Sync())
	}
	if w.oneIn(2) {
		w.add(proxytest.Sync())
		w.run("savepoint s")
	}
	for range 2 + w.IntN(4) {
		w.add(w.execute(portal))
		w.maybe(proxytest.Sync())
		w.maybe(&pgproto3.Describe{ObjectType: 'P', Name: portal})
		if w.oneIn(5) {
			w.add(&pgproto3.Execute{Portal: "none"}, proxytest.Sync())
			w.run("rollback to s")
		}
		if w.oneIn(4) {
			w.pause()
		}
	}
	w.add(proxytest.Sync())
	w.run(w.pick("commit", "rollback", "select 1/0"))
	w.maybe(w.execute(portal))
}

// held adds a cursor that may outlive its transaction, read by FETCH and by Execute.
func (w *writer) held() {
	name := w.pick("a", "b")
	if w.steps {
		name = "held" // FETCH does not know steps
	}
	w.add(proxytest.Sync())
	w.run(w.pick("rollback", "commit"))
	w.run("close " + w.pick("a", "b", "all", name))
	w.maybe(&pgproto3.Close{ObjectType: 'P', Name: name})
	inside := !w.oneIn(3)
	if inside {
		w.run("begin")
	}
	w.run(w.mark(fmt.Sprintf("declare %s %s cursor %s hold for select s, 12/(%d - s) from generate_series(1, 8) s",
		name, w.pick("", "scroll", "no scroll", "binary"), w.pick("with", "with", "with", "without"), w.IntN(20))))
	look := func() {
		for range w.IntN(3) {
			switch w.IntN(5) {
			case 0, 1:
				w.run(w.mark("fetch " + w.pick("2", "all", "backward 1", "absolute 1") + " from " + name))
			case 2, 3:
				w.add(&pgproto3.Execute{Portal: name, MaxRows: uint32(w.IntN(4))})
				w.add(proxytest.Sync())
			default:
				w.add(&pgproto3.Describe{ObjectType: 'P', Name: name}, proxytest.Sync())
			}
		}
	}
	look()
	if inside {
		w.run(w.pick("commit", "commit", "commit", "rollback"))
	}
	look()
	w.maybe(&pgproto3.Flush{})
	if w.oneIn(2) {
		w.run("begin")
		look()
		w.run(w.pick("commit", "rollback"))
		look()
	}
	switch w.IntN(4) {
	case 0:
		w.run("close " + name)
	case 1:
		w.add(&pgproto3.Close{ObjectType: 'P', Name: name}, proxytest.Sync())
	case 2:
		w.run("discard all")
	}
}

// renamed gives one name to statements for the Rewriter and others in turn, some of which fail.
func (w *writer) renamed() {
	n, portal := w.pick("", "a", "b"), w.portalName()
	for i := range 2 + w.IntN(6) {
		text := w.pick("select %d", "/*mbus4*/ select %d, nix", "/*mbus4*/ select %d", "select %d where 1/0 = 1", "selct %d", "/*mbus4*/ selct %d")
		if w.steps && w.oneIn(3) {
			text = proxytest.MarkLate + " select %d + s from generate_series(1, 2) s"
		}
		w.add(proxytest.Parse(n, fmt.Sprintf(text, i)))
		w.maybe(proxytest.Sync())
		w.add(&pgproto3.Bind{DestinationPortal: portal, PreparedStatement: n}, w.execute(portal))
		w.maybe(&pgproto3.Describe{ObjectType: 'S', Name: n})
		if w.oneIn(2) {
			w.add(proxytest.Sync())
		}
		switch w.IntN(5) {
		case 0, 1:
			w.add(&pgproto3.Close{ObjectType: 'S', Name: n})
		case 2:
			w.add(proxytest.Sync())
			w.run(w.pick("deallocate a", "deallocate b", "deallocate all", "discard all", "rollback"))
		case 3:
			w.add(proxytest.Sync())
			w.run(w.mark("prepare " + w.pick("a", "b") + " as select 'by SQL'"))
		}
	}
	w.add(proxytest.Sync())
}

// copied adds a COPY of either direction in either protocol.
func (w *writer) copied() {
	w.add(proxytest.Sync())
	w.run("truncate items")
	in := w.oneIn(2)
	sql := w.mark("copy items from stdin")
	if !in {
		sql = w.mark(w.pick("copy items to stdout", "copy (select s from generate_series(1, 4) s) to stdout (format binary)",
			"copy (select 1/(3 - s) from generate_series(1, 4) s) to stdout"))
	}
	extended := !w.steps && w.oneIn(2)
	if extended {
		w.add(proxytest.Parse("", sql), proxytest.Bind("", ""), proxytest.Execute(""))
		w.maybe(&pgproto3.Flush{})
	} else {
		w.add(&pgproto3.Query{String: sql + w.pick("", "; select 2", "; selct", "; copy items to stdout")})
	}
	if in {
		for i := range w.IntN(5) {
			data := fmt.Sprintf("%d\tx\n", i)
			if w.oneIn(6) {
				data = "bad\n"
			}
			w.add(&pgproto3.CopyData{Data: []byte(data)})
			w.maybe(&pgproto3.Flush{})
		}
		if w.oneIn(3) {
			w.add(&pgproto3.CopyFail{Message: "no more"})
		} else {
			w.add(&pgproto3.CopyDone{})
		}
	}
	if extended { // what is left would copy once more, but without data
		w.add(proxytest.Sync(), &pgproto3.Close{ObjectType: 'S'}, &pgproto3.Close{ObjectType: 'P'}, proxytest.Sync())
	} else {
		w.add(&pgproto3.Close{ObjectType: 'P'})
	}
}

// burst adds a hundred statements and more, all sent before a reply is read.
func (w *writer) burst() {
	if !w.oneIn(3) {
		return
	}
	w.add(proxytest.Sync())
	w.run("rollback")
	for range 100 + w.IntN(60) {
		switch w.IntN(12) {
		case 0:
			w.simple(w.text())
		case 1:
			w.add(proxytest.Sync())
		case 2:
			w.add(&pgproto3.Parse{Name: w.statementName(), Query: w.text()})
		case 3:
			w.add(&pgproto3.Bind{DestinationPortal: w.portalName(), PreparedStatement: w.statementName()}, w.execute(w.portalName()))
		default:
			text := w.mark(w.pick("select 1", "select generate_series(1, 3)", "select 'x'", "select 7 as n"))
			if w.steps && w.oneIn(4) {
				text = proxytest.MarkLate + " select s from generate_series(1, 3) s"
			}
			w.add(proxytest.Parse("", text), proxytest.Bind("", ""), &pgproto3.Describe{ObjectType: 'P'}, w.execute(""))
			if w.oneIn(3) {
				w.add(proxytest.Sync())
			}
		}
	}
	w.add(proxytest.Sync())
}
