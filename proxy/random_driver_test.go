package proxy

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"regexp"
	"testing"
	"time"

	"mbusproxy/internal/wiretest"
	"mbusproxy/proxy/internal/proxytest"
	"mbusproxy/proxy/wire"
)

// TestRandomDriver plays random scripts, directly and through the proxy, and compares every byte of the
// replies. A script goes on after a turn either at once or when all replies have come, behind a Flush as
// well as behind a Sync. Every other script has statements with steps and hidden ones; see randomScript for
// what is in it.
//
// MBUS_RANDOM_TIME is how long to go on, MBUS_RANDOM_SEED the seed of the first script; each next one has
// the next seed.
func TestRandomDriver(t *testing.T) {
	limit, seed := wiretest.Settings(t, "MBUS_RANDOM", 6*time.Second)
	eachWay(t, func(t *testing.T, way how) {
		p := start(t, way, func(c *Config) { c.Rewriter = proxytest.Marking{} })
		direct := fmt.Sprintf("127.0.0.1:%d", shared.cluster.Port())
		first, messages, replies := seed, 0, 0
		var running wiretest.Script
		t.Cleanup(func() {
			if t.Failed() {
				t.Logf("MBUS_RANDOM_SEED=%d, the last script:\n%s", seed, running)
			}
		})
		for began := time.Now(); time.Since(began) < limit/2; seed++ {
			sc := randomScript(rand.New(rand.NewPCG(seed, 3)), seed%2 == 1)
			running = sc
			play := func(s wiretest.Script) (want, got [][]byte, lostSync bool) {
				before := p.sessions.Counts.LostSync.Load() + p.sessions.Counts.Panics.Load()
				want, got = perform(t, direct, s, seed), perform(t, p.addr, s, seed)
				return want, got, p.sessions.Counts.LostSync.Load()+p.sessions.Counts.Panics.Load() > before
			}
			want, got, lost := play(sc)
			if wiretest.Difference(want, got, alike) >= 0 || lost {
				show := func(s wiretest.Script) {
					at := max(0, wiretest.Difference(want, got, alike))
					t.Errorf("MBUS_RANDOM_SEED=%d:\n%s\nlost synchronization: %v; the replies differ from the %dth on; direct:\n%s\nthrough the proxy:\n%s",
						seed, s, lost, at, wiretest.Around(want, at), wiretest.Around(got, at))
				}
				show(sc)
				show(wiretest.Shrink(sc, time.Minute, func(s wiretest.Script) bool {
					w, g, l := play(s)
					failed := wiretest.Difference(w, g, alike) >= 0 && l == lost
					if failed {
						want, got = w, g
					}
					return failed
				}))
				return
			}
			messages += sc.Count()
			replies += len(want)
		}
		t.Logf("%d scripts, seeds from %d, with %d messages and %d replies", seed-first, first, messages, replies)
	})
}

// perform plays a script in a session of its own, on empty tables.
func perform(t *testing.T, addr string, s wiretest.Script, seed uint64) [][]byte {
	t.Helper()
	w := login(t, addr)
	defer func() { _ = w.conn.Close() }()
	w.query("truncate items, deferred")
	return wiretest.Play(w.conn, s, rand.New(rand.NewPCG(seed, 4)))
}

// inSource is the line and routine in errors about the portal of an Execute or Describe.
var inSource = regexp.MustCompile(`L\d+\x00Rexec_(describe_portal|execute)_message\x00`) //nolint:gochecknoglobals // a constant

// alike compares two replies. Of a portal that is not there or a failed transaction the Describe before a
// step gives the error; that may differ in where in its source the server says it.
func alike(direct, proxied []byte) bool {
	if bytes.Equal(direct, proxied) {
		return true
	}
	if direct[0] != wire.MsgErrorResponse || proxied[0] != wire.MsgErrorResponse {
		return false
	}
	return bytes.Equal(inSource.ReplaceAll(direct[wire.HeaderSize:], nil), inSource.ReplaceAll(proxied[wire.HeaderSize:], nil))
}
