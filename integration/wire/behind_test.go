package wire

import (
	"fmt"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5/pgproto3"

	"mbusproxy/integration/internal/frontend"
	"mbusproxy/internal/wiretest"
)

// behindQueries are Queries, one of which may fail, by what they do. The texts that fail do so before they have a
// portal: what Postgres makes of one that such a Query has left is nobody's to compare with (see package pipeline).
// {new} is an iid.
func behindQueries() map[string][]pgproto3.FrontendMessage {
	q := func(sql string) pgproto3.FrontendMessage { return &pgproto3.Query{String: sql} }
	const post, wrong = "select mbus4.post('q1', 'n=>7', delayed_until => '2001-01-01', iid => '{new}')", "select mbus4.post('q1', 'n=>7', delayed_until => 'wrong', iid => '{new}')"
	return map[string][]pgproto3.FrontendMessage{
		"a literal fails":                    {q(wrong)},
		"a literal of a prepared call fails": {q(post), q(post), q(post), q(wrong)},
		"a hstore of a prepared call fails":  {q("select mbus4.post('q1', 'n=>7', iid => '{new}')"), q("select mbus4.post('q1', 'n=>8', iid => '{new}')"), q("select mbus4.post('q1', 'n', iid => '{new}')")},
		"a column is missing":                {q("select mbus4.post('q1', 'n=>7'), nix")},
		"the syntax is wrong":                {q("selct mbus4.post('q1', 'n=>7')")},
		"no call, and it fails":              {q("select nix")},
		"a prepared call succeeds":           {q(post), q(post), q(post)},
		"the call is refused":                {q("select mbus4.post('q1', 'n=>7', colour => 'red')")},
		"nothing":                            nil,
		"a call is skipped":                  {frontend.Bind("x", "none"), q("select mbus4.peek_q1()"), frontend.Sync()},
		"a prepared call is skipped":         {q(post), q(post), q(post), frontend.Bind("x", "none"), q(post), frontend.Sync()},
	}
}

// behindUses use what may be there behind a Query.
func behindUses() map[string][]pgproto3.FrontendMessage {
	return map[string][]pgproto3.FrontendMessage{
		"Describe of the portal":        {frontend.DescribePortal("")},
		"Execute":                       {frontend.Execute("", 0)},
		"Describe of the statement":     {frontend.DescribeStatement("")},
		"Bind":                          {frontend.Bind("", ""), frontend.DescribePortal("")},
		"Bind of nothing":               {frontend.Bind("", "none"), frontend.Sync(), frontend.Execute("", 0)},
		"Close of the statement":        {&pgproto3.Close{ObjectType: 'S'}, frontend.DescribeStatement("")},
		"Close of the portal":           {&pgproto3.Close{ObjectType: 'P'}, frontend.DescribePortal("")},
		"Parse that fails":              {frontend.Parse("", "selct"), frontend.Sync(), frontend.DescribeStatement("")},
		"Parse of a call that fails":    {frontend.Parse("", "select mbus4.post(1, 2, 3)"), frontend.Sync(), frontend.DescribeStatement("")},
		"Parse of a call that is wrong": {frontend.Parse("", "select mbus4.post('q1', 'n=>7', colour => 'red')"), frontend.Sync(), frontend.DescribeStatement("")},
	}
}

// TestBehindQueries: what a client has as its unnamed statement and portal behind a Query is the
// same as without the proxy, also where the Query fails, and where statements of the proxy's own
// have run it.
func TestBehindQueries(t *testing.T) {
	t.Parallel()
	sides := randomSides(t)
	for name, queries := range behindQueries() {
		for _, block := range []bool{false, true} {
			for _, atOnce := range []bool{false, true} {
				script := behindScript(queries, block, atOnce)
				want, got := sides[0].play(t, script, 1), sides[1].play(t, script, 1)
				if at := wiretest.Difference(want, got, alikeBehind); at >= 0 {
					t.Errorf("%s, in a block: %t, at once: %t\n%s\ndirect:\n%s\nthrough the proxy:\n%s",
						name, block, atOnce, script, wiretest.Around(want, at), wiretest.Around(got, at))
				}
			}
		}
	}
}

// behindScript has each of the uses behind the queries.
func behindScript(queries []pgproto3.FrontendMessage, block, atOnce bool) (script wiretest.Script) {
	n := 0
	add := func(messages ...pgproto3.FrontendMessage) {
		for _, m := range messages {
			ends := false
			switch q := m.(type) {
			case *pgproto3.Query:
				n++
				m, ends = &pgproto3.Query{String: strings.ReplaceAll(q.String, "{new}", fmt.Sprint("m", n))}, true
			case *pgproto3.Sync:
				ends = true
			}
			script = append(script, wiretest.Turn{Messages: []pgproto3.FrontendMessage{m}, Wait: ends && !atOnce})
		}
	}
	for use, messages := range behindUses() {
		add(&pgproto3.Query{String: "select '" + use + "'"})
		if block {
			add(&pgproto3.Query{String: "begin"})
		}
		add(frontend.Parse("", "select 5"), frontend.Sync())
		add(queries...)
		add(messages...)
		add(frontend.Sync(), &pgproto3.Query{String: "rollback"})
	}
	add(&pgproto3.Terminate{})
	return script
}

// alikeBehind is alike, for which it is enough that both say the same of a value: where, and in which context, depends
// on what reads it.
func alikeBehind(one, other []byte) bool {
	const wrong = "invalid input syntax"
	return alike(one, other) || strings.Contains(string(one), wrong) && strings.Contains(string(other), wrong)
}
