package proxy

import (
	"context"
	"fmt"
	"net"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5/pgproto3"

	"mbusproxy/proxy/internal/proxytest"
	"mbusproxy/proxy/statements"
	"mbusproxy/proxy/wire"
)

// holdingRewriter holds each text with mbus4 until it is let go or its context ends, and so do late plans each
// Bind.
type holdingRewriter struct {
	proxytest.Stepping
	entered, proceed chan struct{}
}

func newHolding() *holdingRewriter {
	return &holdingRewriter{entered: make(chan struct{}, 16), proceed: make(chan struct{}, 16)}
}

func (r *holdingRewriter) Mentions(text []byte) bool {
	return strings.Contains(string(text), "mbus4") || r.Stepping.Mentions(text)
}

func (r *holdingRewriter) hold(ctx context.Context) {
	r.entered <- struct{}{}
	select {
	case <-ctx.Done():
	case <-r.proceed:
	}
}

func (r *holdingRewriter) Rewrite(ctx context.Context, sc statements.Context, text string) statements.Plan {
	plan := r.Stepping.Rewrite(ctx, sc, text)
	if plan.BindTime() {
		return heldPlan{plan.(*proxytest.SteppingPlan), r}
	}
	r.hold(ctx)
	return plan
}

type heldPlan struct {
	*proxytest.SteppingPlan
	holding *holdingRewriter
}

func (p heldPlan) Prelude(ctx context.Context, sc statements.Context, values wire.Values) statements.Plan {
	p.holding.hold(ctx)
	return p.SteppingPlan.Prelude(ctx, sc, values)
}

// cancelOf is the CancelRequest for w's session.
func cancelOf(w *wireClient) wire.StartupPacket {
	id := w.key.ProcessID
	return wire.CancelKey(append([]byte{byte(id >> 24), byte(id >> 16), byte(id >> 8), byte(id)}, w.key.SecretKey...)).Request()
}

// TestCancelWhileHeld: a cancel request reaches a statement that has not reached the server, and the rest is
// as if it had.
func TestCancelWhileHeld(t *testing.T) {
	const text = "select 'reached' /*mbus4*/"
	const cancelled = "ErrorResponse ERROR 57014 \"canceling statement due to user request\"\n"
	run := func(_, text string) []pgproto3.FrontendMessage {
		return proxytest.Messages(proxytest.Parse("", text), proxytest.Bind("", ""), proxytest.Execute(""))
	}
	cases := map[string]struct {
		before []exchange
		send   []pgproto3.FrontendMessage
		want   string
	}{
		"Query":                  {nil, proxytest.Messages(proxytest.Query(text)), cancelled + idle},
		"Query of two":           {nil, proxytest.Messages(proxytest.Query("insert into items values (4711); " + text)), cancelled + idle},
		"Query in a transaction": {[]exchange{{proxytest.Messages(proxytest.Query("begin")), begun}}, proxytest.Messages(proxytest.Query(text)), cancelled + failed},
		"Query in a failed one": {
			[]exchange{{proxytest.Messages(proxytest.Query("begin")), begun}, {proxytest.Messages(proxytest.Query("select 1/0")), errorLine("22012", "division by zero") + failed}},
			proxytest.Messages(proxytest.Query(text)), "ErrorResponse ERROR 25P02 \"current transaction is aborted, commands ignored until end of transaction block\"\n" + failed,
		},
		"Parse":               {nil, append(run("", text), proxytest.Sync()), cancelled + idle},
		"Parse behind others": {nil, append(append(run("", "begin"), run("", text)...), proxytest.Sync()), parsed + bound + "CommandComplete BEGIN\n" + cancelled + failed},
		"Bind":                {[]exchange{{proxytest.Messages(proxytest.Parse("s", proxytest.LateText), proxytest.Sync()), parsed + idle}}, proxytest.Messages(proxytest.Bind("", "s"), proxytest.Execute(""), proxytest.Sync()), cancelled + idle},
		"Bind behind its Parse": {
			nil, proxytest.Messages(proxytest.Parse("s", proxytest.LateText), proxytest.Bind("", "s"), proxytest.Execute(""), proxytest.Sync()), parsed + cancelled + idle,
		},
		"with the next one": {nil, append(append(run("", text), proxytest.Sync()), proxytest.Query("select from items where id = 4711")), cancelled + idle},
	}
	admin := login(t, shared.address())
	eachWay(t, func(t *testing.T, way how) {
		for name, c := range cases {
			t.Run(name, func(t *testing.T) {
				r := newHolding()
				p := start(t, way, func(c *Config) { c.Rewriter = r })
				w := login(t, p.addr)
				for _, x := range c.before {
					w.send(x.send...)
					if got := w.until('Z') + "\n"; got != x.want {
						t.Fatal(got)
					}
				}
				w.send(c.send...)
				<-r.entered
				if name == "Parse behind others" { // which the server gets the cancel request as well for: it must have come to their end
					proxytest.Eventually(t, "the transaction has begun", func() bool {
						return strings.Contains(admin.query(fmt.Sprintf("select wait_event from pg_stat_activity where pid = %d and state = 'active' and query = 'begin'", w.key.ProcessID)), "ClientRead")
					})
				}
				if err := sendCancel(p.addr, cancelOf(w)); err != nil {
					t.Fatal(err)
				}
				if got := w.until('Z') + "\n"; got != c.want {
					t.Errorf("got\n%swant\n%s", got, c.want)
				}
				if name == "with the next one" {
					if got := w.until('Z'); !strings.Contains(got, "SELECT 0") {
						t.Error(got)
					}
				}
				r.proceed <- struct{}{}
				w.query("rollback")
				if got := w.query(text); !strings.Contains(got, "reached") {
					t.Error(got)
				}
			})
		}
	})
}

// cancelSleep cancels the pg_sleep(60) that w has sent, when it sleeps. other asks whether it does.
func cancelSleep(t *testing.T, addr string, w, other *wireClient) {
	t.Helper()
	sleeps := "select count(*) from pg_stat_activity where wait_event = 'PgSleep' and query like 'select pg_sleep(60)%' and pid = "
	proxytest.Eventually(t, "it sleeps", func() bool { return strings.Contains(other.query(sleeps+pid(w)), `["1"]`) })
	if err := sendCancel(addr, cancelOf(w)); err != nil {
		t.Fatal(err)
	}
	if got := w.until('Z'); !strings.Contains(got, "57014") {
		t.Error(got)
	}
}

// TestCancelBeforeHeld: what runs is cancelled, not what comes after it.
func TestCancelBeforeHeld(t *testing.T) {
	eachWay(t, func(t *testing.T, way how) {
		r := newHolding()
		p := start(t, way, func(c *Config) { c.Rewriter = r })
		w, other := login(t, p.addr), login(t, p.addr)
		w.send(proxytest.Query("select pg_sleep(60)"), proxytest.Query("select 'reached' /*mbus4*/"))
		<-r.entered
		cancelSleep(t, p.addr, w, other)
		r.proceed <- struct{}{}
		if got := w.until('Z'); !strings.Contains(got, "reached") {
			t.Error(got)
		}
	})
}

// TestHeldStatementEnds: with the drain's time, and with the client where that can be told.
func TestHeldStatementEnds(t *testing.T) {
	eachWay(t, func(t *testing.T, way how) {
		for name, leave := range map[string]func(p *running, w *wireClient){
			"the proxy ends": func(p *running, _ *wireClient) { _ = p.Shutdown(t.Context()) },
			"reset":          func(_ *running, w *wireClient) { _ = w.conn.(*net.TCPConn).SetLinger(0); _ = w.conn.Close() },
		} {
			t.Run(name, func(t *testing.T) {
				r := newHolding()
				p := start(t, way, func(c *Config) { c.Rewriter, c.DrainTimeout = r, 1 })
				w := login(t, p.addr)
				w.send(proxytest.Query("select 'reached' /*mbus4*/"))
				<-r.entered
				leave(p, w)
				proxytest.Eventually(t, "the session has ended", func() bool { return p.sessions.Census().Known == 0 })
				if name == "reset" {
					return
				}
				if got := w.toEnd(); !strings.Contains(got, "57P01") || strings.Contains(got, "reached") {
					t.Error(got)
				}
			})
		}
	})
}
