package proxy

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5/pgproto3"

	"mbusproxy/proxy/internal/proxytest"
)

// TestTerminateEndsWait: a client that has sent Terminate behind a statement that waits, and keeps
// its connection open, has left: the statement does not run, and the session ends.
func TestTerminateEndsWait(t *testing.T) {
	leaves := map[string][]byte{
		"Terminate":      encoded(t, &pgproto3.Terminate{}),
		"behind another": encoded(t, proxytest.Query("select 'reached another'"), &pgproto3.Terminate{}),
		"behind much":    encoded(t, proxytest.Query("select 'reached another' --"+strings.Repeat(" ", 6000)), &pgproto3.Terminate{}),
	}
	eachWay(t, func(t *testing.T, way how) {
		r := newWaiting("")
		p := start(t, way, func(c *Config) { c.Rewriter, c.TLS = r, shared.serverTLS() })
		for name, form := range waitForms {
			for what, last := range leaves {
				for _, pieces := range []int{0, 1, 3, 2000} {
					for _, secure := range []bool{false, true} {
						t.Run(fmt.Sprintf("%s, %s, pieces of %d, TLS %t", name, what, pieces, secure), func(t *testing.T) {
							if pieces == 1 && len(last) > 100 {
								return
							}
							w := dialWire(t, p.addr)
							if secure {
								overTLS(w)
							}
							w.startup("user", "postgres", "database", "postgres")
							w.until('Z')
							statement := encoded(t, form.send...)
							if pieces == 0 { // all at once
								w.write(append(statement, last...))
							} else {
								w.write(statement)
							}
							wake := proxytest.Received(t, r.slept)
							if pieces > 0 {
								for piece := range slices.Chunk(last, pieces) {
									w.write(piece)
								}
							}
							if way.loops == 0 { // it hears of that where the statement is woken
								wake()
							}
							for left := false; !left; {
								select {
								case run := <-r.runs:
									if left = true; run {
										t.Error("the statement runs")
									}
								case wake := <-r.slept: // the Terminate had not come
									wake()
								}
							}
							if said, err := io.ReadAll(w.conn); strings.Contains(string(said), "reached") || err != nil {
								t.Errorf("the client gets %q, %v", said, err)
							}
						})
					}
				}
			}
		}
	})
}

// TestReadAheadOfWait: what a client sends while its statement waits is kept, in order, up to a bound.
func TestReadAheadOfWait(t *testing.T) {
	eachWay(t, func(t *testing.T, way how) {
		r := newWaiting("")
		p := start(t, way, func(c *Config) { c.Rewriter, c.TLS = r, shared.serverTLS() })
		for _, secure := range []bool{false, true} {
			t.Run(fmt.Sprintf("TLS %t", secure), func(t *testing.T) {
				w := dialWire(t, p.addr)
				if secure {
					overTLS(w)
				}
				w.startup("user", "postgres", "database", "postgres")
				w.until('Z')
				for round := range 3 {
					w.send(waitForms["simple"].send...)
					wake := proxytest.Received(t, r.slept)
					const behind = 40 // of 1000 bytes each: more than is read ahead
					for i := range behind {
						w.write(encoded(t, proxytest.Query(fmt.Sprintf("select 'n%d' --%s", i, strings.Repeat(" ", 1000)))))
					}
					if round == 1 { // one more look
						wake()
						wake = proxytest.Received(t, r.slept)
					}
					r.end(wake)
					if got := w.until('Z'); !strings.Contains(got, "reached") {
						t.Error(got)
					}
					for i := range behind {
						if got, want := w.until('Z'), fmt.Sprintf("n%d", i); !strings.Contains(got, want) {
							t.Fatalf("got %q, want %q", got, want)
						}
					}
					if run := <-r.runs; !run {
						t.Error("the statement does not run")
					}
					r.mu.Lock()
					r.over = false
					r.mu.Unlock()
				}
			})
		}
	})
}

// encoded are messages as bytes.
func encoded(t *testing.T, messages ...pgproto3.FrontendMessage) (all []byte) {
	t.Helper()
	for _, m := range messages {
		var err error
		if all, err = m.Encode(all); err != nil {
			t.Fatal(err)
		}
	}
	return all
}
