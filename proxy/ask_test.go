package proxy

import (
	"context"
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5/pgproto3"
)

// curious is an Asker: a text with /*ask SQL*/ has the question SQL, and {answer} in it stands for what the
// session said.
type curious struct{ stepping }

var askMark = regexp.MustCompile(`(?s)/\*ask (.*?)\*/`) //nolint:gochecknoglobals // a constant

func (r *curious) Mentions(text []byte) bool { return askMark.Match(text) || r.stepping.Mentions(text) }

func (r *curious) Question(_ context.Context, _ StatementContext, text string) string {
	if m := askMark.FindStringSubmatch(text); m != nil {
		return m[1]
	}
	return ""
}

func (r *curious) Rewrite(ctx context.Context, sc StatementContext, text string) Plan {
	if askMark.MatchString(text) && !lateMark.MatchString(text) {
		return &steppingPlan{rewriter: &r.stepping, name: "plan", text: strings.ReplaceAll(text, "{answer}", sc.Answer)}
	}
	return r.stepping.Rewrite(ctx, sc, text)
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
		return msgs(parse("", "set my.x = '"+value+"'"), bind("", ""), execute(""))
	}
	asking := msgs(parse("", ask), bind("", ""), execute(""))
	all := func(m ...[]pgproto3.FrontendMessage) (out []pgproto3.FrontendMessage) {
		for _, part := range m {
			out = append(out, part...)
		}
		return append(out, sync1())
	}
	wasSet := parsed + bound + "CommandComplete SET\n"
	division := errorLine("22012", "division by zero")
	aborted := errorLine("25P02", "current transaction is aborted, commands ignored until end of transaction block")
	long := strings.Repeat("a", 100_000)
	return map[string][]exchange{
		"Query": {
			x("CommandComplete SET\n"+idle, query("set my.x = 'one'")),
			x(column+row("one")+idle, query(ask)),
			x("CommandComplete SET\n"+idle+column+row("two")+idle+column+row("two")+idle, query("set my.x = 'two'"), query(ask), query(ask)),
		},
		"Parse": {
			x(wasSet+parsed+bound+row("one")+wasSet+parsed+bound+row("two")+idle, all(set("one"), asking, set("two"), asking)...),
			x(parsed+bound+row("two")+idle+parsed+bound+row("two")+idle, append(all(asking), all(asking)...)...),
		},
		"no row": {
			x(column+row("")+idle, query("/*ask select 1 where false*/ select '{answer}'")),
			x(column+row("")+idle, query("/*ask select null*/ select '{answer}'")),
		},
		"skipped": {
			x(parsed+bound+"ErrorResponse ERROR 22012 \"division by zero\"\n"+idle+parsed+bound+row("")+idle,
				append(all(msgs(parse("", failing), bind("", ""), execute("")), asking, asking), all(asking)...)...),
		},
		"failed transaction": {
			x(begun, query("begin")),
			x(division+failed, query("select 1/0")),
			x(errorLine("25P02", "current transaction is aborted, commands ignored until end of transaction block [plan]")+failed, query(ask)),
			x(aborted+failed, all(asking)...),
			x("CommandComplete ROLLBACK\n"+column+row("")+idle, query("rollback; "+ask)),
			x(begun, query("begin")),
			x(column+row("")+inTx, query(ask)),
		},
		"failing question": {
			x(errorLine("22012", "division by zero")+idle, query("/*ask select 1/0*/ select 'never'")),
			x(errorLine("22012", "division by zero")+idle, all(msgs(parse("", "/*ask select 1/0*/ select 'never'"), bind("", ""), execute("")))...),
			x(begun, query("begin")),
			x(errorLine("22012", "division by zero")+failed, query("/*ask select 1/0*/ select 'never'")),
			x("CommandComplete ROLLBACK\n"+idle+column+row("")+idle, query("rollback"), query(ask)),
		},
		"behind messages without a Sync": {
			x(parsed+bound+row("1")+column+row("")+behind, parse("", "select 1"), bind("", ""), execute(""), query(ask)),
		},
		"long": {
			x("CommandComplete SET\n"+idle, query("set my.x = 'one'")),
			x(column+row("one")+idle+parsed+bound+row("one")+idle,
				query(ask+"/*"+long+"*/"), parse("", ask+"/*"+long+"*/"), bind("", ""), execute(""), sync1()),
		},
		"a statement that commits": {
			x("CommandComplete CREATE PROCEDURE\n"+idle, query("create or replace procedure pg_temp.committing() language plpgsql as 'begin commit; end'")),
			x(parsed+bound+"CommandComplete CALL\n"+idle, all(msgs(parse("", "/*ask select 1*/ call pg_temp.committing()"), bind("", ""), execute("")))...),
			x("CommandComplete CALL\n"+idle, query("/*ask select 1*/ call pg_temp.committing()")),
		},
		"the client's unnamed statement": {
			x(parsed+idle+parsed+idle+bound+row("kept")+idle, parse("", "select 'kept'"), sync1(), parse("s", ask), sync1(), bind("", ""), execute(""), sync1()),
		},
		"behind COPY in the extended protocol": {
			x("CommandComplete CREATE TABLE\n"+idle, query("create temp table c (a int)")),
			x(parsed+bound+"CopyInResponse\nCommandComplete COPY 1\n"+parsed+bound+row("")+parsed+bound+division+idle,
				append(append(msgs(parse("", "copy c from stdin"), bind("", ""), execute(""), sync1()), &pgproto3.CopyData{Data: []byte("1\n")}, &pgproto3.CopyDone{}),
					all(asking, msgs(parse("", failing), bind("", ""), execute("")))...)...),
			x("RowDescription count:25\n"+row("0")+idle, query("/*ask select 1*/ select count(*)::text from c")),
		},
		"with a step": {
			x(parsed+bound+ran(1)+idle, parse("", "/*ask select 1*/"+lateText), bind("", ""), execute(""), sync1()),
			x(parsed+bound+ran(2)+bound+ran(3)+idle, parse("s", "/*ask select 1*/"+lateText), bind("", "s"), execute(""), bind("", "s"), execute(""), sync1()),
		},
		"behind COPY": {
			x("CommandComplete CREATE TABLE\n"+idle, query("create temp table t (a int)")),
			x("CopyInResponse\nCommandComplete COPY 1\n"+idle+column+row("")+idle,
				query("copy t from stdin"), &pgproto3.CopyData{Data: []byte("1\n")}, &pgproto3.CopyDone{}, query(ask)),
		},
	}
}

// TestQuestions: what the session is asked stays between proxy and server.
func TestQuestions(t *testing.T) {
	w := login(t, fmt.Sprintf("127.0.0.1:%d", shared.cluster.Port()))
	w.send(parse("", "select 1"), bind("", ""), execute(""), query("select 1"))
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
			w.send(parse("", "select 1/(g - 1) from generate_series(1, 1) g"), bind("", ""), execute(""), &pgproto3.Flush{})
			if i%2 == 0 {
				w.until('E')
			}
			w.send(parse("", "/*ask select 1*/ select 2"), bind("", ""), execute(""), parse("", "/*ask select 1*/ select 3"))
			w.send(sync1())
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
			msgs(query(slow)), msgs(parse("", slow), bind("", ""), execute(""), sync1()),
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
		w.send(query(slow))
		for got := ""; !strings.Contains(got, `["1"]`); {
			got = other.query("select count(*) from pg_stat_activity where wait_event = 'PgSleep' and pid = " + strconv.Itoa(int(w.key.ProcessID)))
		}
		other.query("select pg_terminate_backend(" + strconv.Itoa(int(w.key.ProcessID)) + ")")
		if got := w.toEnd(); !strings.Contains(got, "57P01") {
			t.Error(got)
		}
	})
}
