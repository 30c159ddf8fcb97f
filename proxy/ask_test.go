package proxy

import (
	"context"
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5/pgproto3"

	"mbusproxy/proxy/internal/proxytest"
	"mbusproxy/proxy/statements"
)

// curious is a Prober: a text with /*ask SQL*/ has the question SQL, and {answer} in it stands for what the
// session said.
type curious struct{ proxytest.Stepping }

var askMark = regexp.MustCompile(`(?s)/\*ask (.*?)\*/`) //nolint:gochecknoglobals // a constant

func (r *curious) Mentions(text []byte) bool { return askMark.Match(text) || r.Stepping.Mentions(text) }

func (r *curious) Probe(_ context.Context, _ statements.Context, text string) string {
	if m := askMark.FindStringSubmatch(text); m != nil {
		return m[1]
	}
	return ""
}

func (r *curious) Rewrite(ctx context.Context, sc statements.Context, text string) statements.Plan {
	if askMark.MatchString(text) && !proxytest.LateMark.MatchString(text) {
		return &proxytest.SteppingPlan{Rewriter: &r.Stepping, Name: "plan", Text: strings.ReplaceAll(text, "{answer}", sc.Answer)}
	}
	return r.Stepping.Rewrite(ctx, sc, text)
}

// askCases are played as stepCases are. behind is what the server says last to a Query behind messages without
// a Sync.
func askCases(behind string) map[string][]exchange {
	x := func(want string, m ...pgproto3.FrontendMessage) exchange { return exchange{send: m, want: want} }
	const ask = "/*ask select coalesce(current_setting('my.x', true), '')*/ select '{answer}'"
	const failing = "select 1/(g - 1) from generate_series(1, 1) g"
	row := func(value string) string { return "DataRow [\"" + value + "\"]\nCommandComplete SELECT 1\n" }
	column := "RowDescription ?column?:25\n"
	set := func(value string) []pgproto3.FrontendMessage {
		return proxytest.Messages(proxytest.Parse("", "set my.x = '"+value+"'"), proxytest.Bind("", ""), proxytest.Execute(""))
	}
	asking := proxytest.Messages(proxytest.Parse("", ask), proxytest.Bind("", ""), proxytest.Execute(""))
	all := func(m ...[]pgproto3.FrontendMessage) (out []pgproto3.FrontendMessage) {
		for _, part := range m {
			out = append(out, part...)
		}
		return append(out, proxytest.Sync())
	}
	wasSet := parsed + bound + "CommandComplete SET\n"
	division := errorLine("22012", "division by zero")
	aborted := errorLine("25P02", "current transaction is aborted, commands ignored until end of transaction block")
	long := strings.Repeat("a", 100_000)
	return map[string][]exchange{
		"Query": {
			x("CommandComplete SET\n"+idle, proxytest.Query("set my.x = 'one'")),
			x(column+row("one")+idle, proxytest.Query(ask)),
			x("CommandComplete SET\n"+idle+column+row("two")+idle+column+row("two")+idle, proxytest.Query("set my.x = 'two'"), proxytest.Query(ask), proxytest.Query(ask)),
		},
		"Parse": {
			x(wasSet+parsed+bound+row("one")+wasSet+parsed+bound+row("two")+idle, all(set("one"), asking, set("two"), asking)...),
			x(parsed+bound+row("two")+idle+parsed+bound+row("two")+idle, append(all(asking), all(asking)...)...),
		},
		"no row": {
			x(column+row("")+idle, proxytest.Query("/*ask select 1 where false*/ select '{answer}'")),
			x(column+row("")+idle, proxytest.Query("/*ask select null*/ select '{answer}'")),
		},
		"skipped": {
			x(parsed+bound+"ErrorResponse ERROR 22012 \"division by zero\"\n"+idle+parsed+bound+row("")+idle,
				append(all(proxytest.Messages(proxytest.Parse("", failing), proxytest.Bind("", ""), proxytest.Execute("")), asking, asking), all(asking)...)...),
		},
		"failed transaction": {
			x(begun, proxytest.Query("begin")),
			x(division+failed, proxytest.Query("select 1/0")),
			x(errorLine("25P02", "current transaction is aborted, commands ignored until end of transaction block [plan]")+failed, proxytest.Query(ask)),
			x(aborted+failed, all(asking)...),
			x("CommandComplete ROLLBACK\n"+column+row("")+idle, proxytest.Query("rollback; "+ask)),
			x(begun, proxytest.Query("begin")),
			x(column+row("")+inTx, proxytest.Query(ask)),
		},
		"failing question": {
			x(errorLine("22012", "division by zero")+idle, proxytest.Query("/*ask select 1/0*/ select 'never'")),
			x(errorLine("22012", "division by zero")+idle, all(proxytest.Messages(proxytest.Parse("", "/*ask select 1/0*/ select 'never'"), proxytest.Bind("", ""), proxytest.Execute("")))...),
			x(begun, proxytest.Query("begin")),
			x(errorLine("22012", "division by zero")+failed, proxytest.Query("/*ask select 1/0*/ select 'never'")),
			x("CommandComplete ROLLBACK\n"+idle+column+row("")+idle, proxytest.Query("rollback"), proxytest.Query(ask)),
		},
		"behind messages without a Sync": {
			x(parsed+bound+row("1")+column+row("")+behind, proxytest.Parse("", "select 1"), proxytest.Bind("", ""), proxytest.Execute(""), proxytest.Query(ask)),
		},
		"long": {
			x("CommandComplete SET\n"+idle, proxytest.Query("set my.x = 'one'")),
			x(column+row("one")+idle+parsed+bound+row("one")+idle,
				proxytest.Query(ask+"/*"+long+"*/"), proxytest.Parse("", ask+"/*"+long+"*/"), proxytest.Bind("", ""), proxytest.Execute(""), proxytest.Sync()),
		},
		"a statement that commits": {
			x("CommandComplete CREATE PROCEDURE\n"+idle, proxytest.Query("create or replace procedure pg_temp.committing() language plpgsql as 'begin commit; end'")),
			x(parsed+bound+"CommandComplete CALL\n"+idle, all(proxytest.Messages(proxytest.Parse("", "/*ask select 1*/ call pg_temp.committing()"), proxytest.Bind("", ""), proxytest.Execute("")))...),
			x("CommandComplete CALL\n"+idle, proxytest.Query("/*ask select 1*/ call pg_temp.committing()")),
		},
		"the client's unnamed statement": {
			x(parsed+idle+parsed+idle+bound+row("kept")+idle, proxytest.Parse("", "select 'kept'"), proxytest.Sync(), proxytest.Parse("s", ask), proxytest.Sync(), proxytest.Bind("", ""), proxytest.Execute(""), proxytest.Sync()),
		},
		"behind COPY in the extended protocol": {
			x("CommandComplete CREATE TABLE\n"+idle, proxytest.Query("create temp table c (a int)")),
			x(parsed+bound+"CopyInResponse\nCommandComplete COPY 1\n"+parsed+bound+row("")+parsed+bound+division+idle,
				append(append(proxytest.Messages(proxytest.Parse("", "copy c from stdin"), proxytest.Bind("", ""), proxytest.Execute(""), proxytest.Sync()), &pgproto3.CopyData{Data: []byte("1\n")}, &pgproto3.CopyDone{}),
					all(asking, proxytest.Messages(proxytest.Parse("", failing), proxytest.Bind("", ""), proxytest.Execute("")))...)...),
			x("RowDescription count:25\n"+row("0")+idle, proxytest.Query("/*ask select 1*/ select count(*)::text from c")),
		},
		"with a step": {
			x(parsed+bound+ran(1)+idle, proxytest.Parse("", "/*ask select 1*/"+proxytest.LateText), proxytest.Bind("", ""), proxytest.Execute(""), proxytest.Sync()),
			x(parsed+bound+ran(2)+bound+ran(3)+idle, proxytest.Parse("s", "/*ask select 1*/"+proxytest.LateText), proxytest.Bind("", "s"), proxytest.Execute(""), proxytest.Bind("", "s"), proxytest.Execute(""), proxytest.Sync()),
		},
		"behind COPY": {
			x("CommandComplete CREATE TABLE\n"+idle, proxytest.Query("create temp table t (a int)")),
			x("CopyInResponse\nCommandComplete COPY 1\n"+idle+column+row("")+idle,
				proxytest.Query("copy t from stdin"), &pgproto3.CopyData{Data: []byte("1\n")}, &pgproto3.CopyDone{}, proxytest.Query(ask)),
		},
	}
}

// TestQuestions: what the session is asked stays between proxy and server.
func TestQuestions(t *testing.T) {
	w := login(t, fmt.Sprintf("127.0.0.1:%d", shared.cluster.Port()))
	w.send(proxytest.Parse("", "select 1"), proxytest.Bind("", ""), proxytest.Execute(""), proxytest.Query("select 1"))
	behind := idle // but inTx from Postgres 18 on
	if strings.HasSuffix(w.until('Z')+"\n", inTx) {
		behind = inTx
	}
	eachWay(t, func(t *testing.T, way how) {
		p := start(t, way, func(c *Config) { c.Rewriter, c.TLS = new(curious), shared.serverTLS() })
		for name, exchanges := range askCases(behind) {
			t.Run(name, func(t *testing.T) {
				for _, secure := range []bool{false, true} {
					for _, together := range []bool{false, true} {
						w := dialWire(t, p.addr)
						if secure {
							overTLS(w)
						}
						w.startup("user", "postgres", "database", "postgres")
						w.until('Z')
						playSteps(t, w, exchanges, together)
					}
				}
			})
		}
	})
}

// TestQuestionsNeverAnswered: the server has failed before it gets the question, at whatever moment the
// client sends it.
func TestQuestionsNeverAnswered(t *testing.T) {
	eachWay(t, func(t *testing.T, way how) {
		p := start(t, way, func(c *Config) { c.Rewriter = new(curious) })
		w := login(t, p.addr)
		for i := range 50 {
			w.send(proxytest.Parse("", "select 1/(g - 1) from generate_series(1, 1) g"), proxytest.Bind("", ""), proxytest.Execute(""), &pgproto3.Flush{})
			if i%2 == 0 {
				w.until('E')
			}
			w.send(proxytest.Parse("", "/*ask select 1*/ select 2"), proxytest.Bind("", ""), proxytest.Execute(""), proxytest.Parse("", "/*ask select 1*/ select 3"))
			w.send(proxytest.Sync())
			w.until('Z')
			if got := w.query("/*ask select 'x' || " + strconv.Itoa(i) + "*/ select '{answer}'"); !strings.Contains(got, fmt.Sprintf("x%d", i)) {
				t.Fatalf("round %d: %s", i, got)
			}
		}
	})
}

// TestQuestionCancelled: a client that cancels gets the error for its own message, and the session goes on.
func TestQuestionCancelled(t *testing.T) {
	eachWay(t, func(t *testing.T, way how) {
		p := start(t, way, func(c *Config) { c.Rewriter = new(curious) })
		w, other := login(t, p.addr), login(t, p.addr)
		const slow = "/*ask select pg_sleep(60)::text*/ select 'never'"
		for _, m := range [][]pgproto3.FrontendMessage{
			proxytest.Messages(proxytest.Query(slow)), proxytest.Messages(proxytest.Parse("", slow), proxytest.Bind("", ""), proxytest.Execute(""), proxytest.Sync()),
		} {
			w.send(m...)
			for got := ""; !strings.Contains(got, `["1"]`); {
				got = other.query("select count(*) from pg_stat_activity where wait_event = 'PgSleep' and pid = " + strconv.Itoa(int(w.key.ProcessID)))
			}
			other.query("select pg_cancel_backend(" + strconv.Itoa(int(w.key.ProcessID)) + ")")
			if got := w.until('Z'); !strings.Contains(got, "57014") || strings.Contains(got, "never") {
				t.Error(got)
			}
			if got := w.query("select 'goes on'"); !strings.Contains(got, "goes on") {
				t.Error(got)
			}
		}
		w.send(proxytest.Query(slow))
		for got := ""; !strings.Contains(got, `["1"]`); {
			got = other.query("select count(*) from pg_stat_activity where wait_event = 'PgSleep' and pid = " + strconv.Itoa(int(w.key.ProcessID)))
		}
		other.query("select pg_terminate_backend(" + strconv.Itoa(int(w.key.ProcessID)) + ")")
		if got := w.toEnd(); !strings.Contains(got, "57P01") {
			t.Error(got)
		}
	})
}
