package wire

import (
	"fmt"
	"math/rand/v2"
	"strings"

	"github.com/jackc/pgx/v5/pgproto3"

	"mbusproxy/internal/wiretest"

	"mbusproxy/integration/internal/frontend"
)

// callWriter makes up a script with calls.
//
// A few things are left out in which the proxy and a function differ by design: portals with calls are
// bound directly before they are first executed, for what is served inline sees the messages that were
// there at the Bind; calls over rows are not read piece by piece, for then they are made ahead; behind an
// Execute with a row limit comes a Sync, for before that the server shows to no other statement what a
// suspended portal has changed; and SQL's EXECUTE and FETCH do not get at statements with steps (see
// docs/design.md).
type callWriter struct {
	*rand.Rand
	script   wiretest.Script
	messages []pgproto3.FrontendMessage // of the turn under way
	number   int                        // of the last message posted
	values   map[string][]string        // by the name of a statement, the parameters it has
}

func randomCalls(rnd *rand.Rand) wiretest.Script {
	w := &callWriter{Rand: rnd, values: map[string][]string{}}
	w.query("select mbus4.post('q1', hstore('n', s::text), iid => 'a' || s) from generate_series(1, 5) s")
	blocks := []func(){w.once, w.once, w.named, w.named, w.simple, w.simple, w.piecewise, w.cursor, w.transaction, w.noise, w.burst, w.again, w.again, w.unnamed, w.unnamed, w.hidden}
	for range 4 + w.IntN(20) {
		blocks[w.IntN(len(blocks))]()
		w.pause()
	}
	w.add(frontend.Sync(), &pgproto3.Query{String: "select 'end'"}, &pgproto3.Terminate{})
	w.end(false)
	return w.script
}

func (w *callWriter) add(m ...pgproto3.FrontendMessage) { w.messages = append(w.messages, m...) }

func (w *callWriter) end(wait bool) {
	w.script = append(w.script, wiretest.Turn{Messages: w.messages, Wait: wait})
	w.messages = nil
}

// pause may end the turn.
func (w *callWriter) pause() {
	switch w.IntN(4) {
	case 0:
		w.add(frontend.Flush())
		w.end(true)
	case 1:
		w.add(frontend.Sync())
		w.end(true)
	case 2:
		w.end(false)
	}
}

func (w *callWriter) pick(from ...string) string { return from[w.IntN(len(from))] }

func (w *callWriter) oneIn(n int) bool { return w.IntN(n) == 0 }

func (w *callWriter) maybe(m ...pgproto3.FrontendMessage) {
	if w.oneIn(4) {
		w.add(m...)
	}
}

// query adds a Query. Postgres 15 crashes when the unnamed portal that a failed one has left in a
// transaction is executed, so the portal is closed behind it.
func (w *callWriter) query(sql string) {
	w.add(&pgproto3.Query{String: sql}, &pgproto3.Close{ObjectType: 'P'})
}

// iid names a message that was posted, or not.
func (w *callWriter) iid() string {
	if w.number == 0 || w.oneIn(3) {
		return fmt.Sprint("a", 1+w.IntN(6))
	}
	return fmt.Sprint("m", 1+w.IntN(w.number+1))
}

// plain is a statement without calls.
func (w *callWriter) plain() string {
	return w.pick("select 1", "select generate_series(1, 4)", "select 'mbus4.post(1)'", "select 1/0", "selct", "select nix", "",
		"insert into done values ('by hand', 1)", "select count(*) from done", "do $$ begin raise notice 'hello'; end $$",
		"select iid from done order by 1")
}

// call is a statement with calls, and the values of its parameters.
func (w *callWriter) call() (sql string, values []string) {
	w.number++
	fill := func(sql string) string {
		sql = strings.ReplaceAll(sql, "{new}", fmt.Sprint("m", w.number))
		return strings.ReplaceAll(sql, "{iid}", w.iid())
	}
	if w.oneIn(3) {
		switch w.IntN(8) {
		case 0:
			return "select mbus4.post('q1', $1, iid => $2)", []string{"n=>1", fill("{new}")}
		case 1:
			return "select mbus4.post($1, hstore('n', $2), iid => $3) as posted, $4::int", []string{"q2", "2", fill("{new}"), "3"}
		case 2:
			return "select mbus4.is_msg_exists($1)", []string{fill("{iid}")}
		case 3:
			return "select iid, data from mbus4.take($1)", []string{fill("{iid}")}
		case 4:
			return "select iid, data from mbus4.consumen($1, amt => $2)", []string{"q1", "2"}
		case 5:
			return "select iid from mbus4.dyn_consume('q1', $1)", []string{w.pick("t.data->'n' = '2'", "true", "nix")}
		case 6:
			return "select mbus4.run_on_q1($1)", []string{w.pick("insert into done select ($1).iid, 7", "select 1")}
		default:
			return "insert into done select iid, $1 from mbus4.consume('q1') returning iid, n", []string{"5"}
		}
	}
	return fill(w.pick(
		"select mbus4.post('q1', 'n=>7', iid => '{new}')",
		"select mbus4.post('q2', 'n=>8', iid => '{new}', properties => 'p=>1')",
		"select mbus4.post_q1(hstore('n', '9'), iid => '{new}') || '!' as said",
		"select mbus4.post('q1', 'n=>7', iid => '{iid}')", // may be there
		"select mbus4.post('none', 'n=>7')",
		"select mbus4.post('q1', 'n=>7', iid => '{new}'), nix",
		"select 'ü', mbus4.post('q1', 'n=>7', iid => '{new}'), 1/0",
		"selct mbus4.post('q1', 'n=>7')",
		"select mbus4.post('q1', 'n=>7', colour => 'red')",
		"select mbus4.nothing()",
		"select iid, data from mbus4.consume('q1')",
		"select iid, data->'n' as n from mbus4.consume('q2', 'second') m where true",
		"select iid from mbus4.consume_q2_by_second()",
		"select iid, data from mbus4.consumen('q1', amt => 3) order by iid",
		"select x.*, m.iid from generate_series(1, 2) x, mbus4.consumen('q1', 'default', 2) m order by 1, 2",
		"select iid, data from mbus4.peek('{iid}')",
		"select (mbus4.peek('{iid}')).data",
		"select mbus4.is_msg_exists('{iid}') as there, mbus4.peek_q1() as any, mbus4.peek_q1('{iid}')",
		"select iid, data, properties from mbus4.take('{iid}')",
		"select iid from mbus4.dyn_consume('q1', 't.data->''n'' = ''3''')",
		"insert into done select iid, 1 from mbus4.consumen('q1', amt => 2) returning *",
		"with m as (select iid from mbus4.consume('q1')) select iid, length(iid) from m",
		"update done set n = n + 1 where not mbus4.is_msg_exists(iid)",
		"delete from done where mbus4.is_msg_exists(iid) returning iid",
		"select case when mbus4.peek_q1() then mbus4.post('q2', 'n=>1', iid => '{new}') end",
		"copy (select iid, data from mbus4.consumen('q1', amt => 2) order by 1) to stdout",
		"prepare sql as select mbus4.is_msg_exists('{iid}')",
	)), nil
}

// text is any statement.
func (w *callWriter) text() (sql string, values []string) {
	if w.oneIn(3) {
		return w.plain(), nil
	}
	return w.call()
}

func (w *callWriter) bind(portal, name string) pgproto3.FrontendMessage {
	m := &pgproto3.Bind{DestinationPortal: portal, PreparedStatement: name}
	for _, v := range w.values[name] {
		m.Parameters = append(m.Parameters, []byte(v))
	}
	if w.oneIn(12) {
		m.Parameters = append(m.Parameters, nil) // one too many
	}
	if w.oneIn(4) {
		m.ResultFormatCodes = []int16{1}
	}
	return m
}

func (w *callWriter) parse(name, sql string, values []string) pgproto3.FrontendMessage {
	w.values[name] = values
	return frontend.Parse(name, sql)
}

// execute adds an Execute, sometimes with a limit.
func (w *callWriter) execute(portal string) {
	limit := uint32(w.IntN(3))
	w.add(frontend.Execute(portal, limit))
	if limit > 0 {
		w.add(frontend.Sync())
	}
}
