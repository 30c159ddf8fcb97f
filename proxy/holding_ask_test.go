package proxy

import (
	"context"
	"testing"

	"github.com/jackc/pgx/v5/pgproto3"

	"mbusproxy/proxy/internal/proxytest"
	"mbusproxy/proxy/statements"
)

// thinkingProber holds each text with mbus4 while it thinks of a question, and then has none.
type thinkingProber struct{ *holdingRewriter }

func (r thinkingProber) Probe(ctx context.Context, _ statements.Context, _ string) string {
	r.hold(ctx)
	return ""
}

func (r thinkingProber) Rewrite(ctx context.Context, sc statements.Context, text string) statements.Plan {
	return r.Stepping.Rewrite(ctx, sc, text)
}

// TestCancelWhileAsked: a cancel request reaches a statement about which the Rewriter thinks of a question.
func TestCancelWhileAsked(t *testing.T) {
	const text = "select 'reached' /*mbus4*/"
	const cancelled = "ErrorResponse ERROR 57014 \"canceling statement due to user request\"\n"
	for name, send := range map[string][]pgproto3.FrontendMessage{
		"Query": proxytest.Messages(proxytest.Query(text)), "Parse": proxytest.Messages(proxytest.Parse("", text), proxytest.Bind("", ""), proxytest.Execute(""), proxytest.Sync()),
	} {
		t.Run(name, func(t *testing.T) {
			eachWay(t, func(t *testing.T, way how) {
				r := thinkingProber{newHolding()}
				p := start(t, way, func(c *Config) { c.Rewriter = r })
				w := login(t, p.addr)
				w.send(send...)
				<-r.entered
				if err := sendCancel(p.addr, cancelOf(w)); err != nil {
					t.Fatal(err)
				}
				if got, want := w.until('Z')+"\n", cancelled+idle; got != want {
					t.Errorf("got\n%swant\n%s", got, want)
				}
			})
		})
	}
}
