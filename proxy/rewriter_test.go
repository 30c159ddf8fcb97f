package proxy

import (
	"context"
	"strconv"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5/pgproto3"

	"mbusproxy/proxy/internal/proxytest"
	"mbusproxy/proxy/statements"
)

// waiting is a Rewriter that answers when it is let, or when its context ends.
type waiting struct {
	proxytest.Marking
	entered  chan statements.Context
	proceed  chan struct{}
	canceled chan struct{}
}

func (r waiting) Rewrite(ctx context.Context, sc statements.Context, text string) statements.Plan {
	r.entered <- sc
	select {
	case <-r.proceed:
		return r.Marking.Rewrite(ctx, sc, text)
	case <-ctx.Done():
		close(r.canceled)
		return nil
	}
}

// TestRewriterMayBlock: it holds up its own session's client only, not what the session's server
// says, nor other sessions, and hears of the session's end.
func TestRewriterMayBlock(t *testing.T) {
	eachWay(t, func(t *testing.T, way how) {
		r := waiting{entered: make(chan statements.Context, 2), proceed: make(chan struct{}), canceled: make(chan struct{})}
		way.loops = min(way.loops, 1) // both sessions in the same one
		p := start(t, way, func(c *Config) { c.Rewriter = r })
		w, other := login(t, p.addr), login(t, p.addr)
		w.query("set client_encoding to latin1")
		w.query("listen ear")
		w.send(&pgproto3.Query{String: "select 'before'"}, &pgproto3.Query{String: "select /*mbus4*/ 'plan'"}, &pgproto3.Query{String: "select 'after'"})
		if got := w.until('Z'); !strings.Contains(got, "before") {
			t.Errorf("what comes before is held up: %s", got)
		}
		if sc := <-r.entered; sc.Database != "postgres" || sc.Encoding != "LATIN1" {
			t.Errorf("context is %+v", sc)
		}
		other.query("notify ear, 'meanwhile'")
		if got := w.until('A'); !strings.Contains(got, "meanwhile") {
			t.Error(got)
		}
		r.proceed <- struct{}{}
		if got := w.until('Z') + w.until('Z'); !strings.Contains(got, "plan") || !strings.Contains(got, "after") {
			t.Error(got)
		}
		w.send(&pgproto3.Parse{Query: "select /*mbus4*/ 2"})
		<-r.entered
		other.query("select pg_terminate_backend(" + strconv.Itoa(int(w.key.ProcessID)) + ")")
		<-r.canceled
		if got := w.toEnd(); !strings.Contains(got, "57P01") {
			t.Error(got)
		}
	})
}
