package proxy

import (
	"context"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgconn"

	"mbusproxy/internal/wiretest"
	"mbusproxy/proxy/internal/proxytest"
)

// TestFaultsCut cuts a session at every frame boundary and in every frame, politely and by a reset, between
// client and proxy and between proxy and server.
func TestFaultsCut(t *testing.T) {
	eachFaultWay(t, func(t *testing.T, way how) {
		b := newFaultBench(t, way, nil)
		b.undisturbed()
		if err := b.quiet(); err != nil {
			t.Fatal(err)
		}
		goroutines, files := runtime.NumGoroutine(), openFiles(t)
		for side := range b.sides {
			var plans []wiretest.Plan
			for _, p := range b.places(side) {
				for _, p.Action = range []wiretest.Action{wiretest.Finish, wiretest.Reset} {
					plans = append(plans, p)
				}
			}
			const cuts = 16
			tried, missed := 0, 0
			for _, p := range some(plans, 2*cuts) { // how bytes come together is another each time: others come for places that are not there
				if tried == cuts && !thorough() {
					break
				}
				err, mayMiss := b.cut(side, p), func(err error) bool {
					return err != nil && strings.HasPrefix(err.Error(), "the place was not reached") && b.maybeMissed(side, p)
				}
				for again := 0; again < 2 && mayMiss(err); again++ {
					err = b.cut(side, p)
				}
				switch {
				case err == nil:
					tried++
				case mayMiss(err):
					missed++
				default:
					t.Errorf("%s's side: %v: %v", side, p, err)
				}
			}
			t.Logf("%s's side: cut at %d places of %d; %d were not there this time", side, tried, len(plans), missed)
			if missed > 2+tried/4 {
				t.Errorf("too many places were missed")
			}
		}
		b.clean(goroutines, files)
	})
}

// TestFaultsDelay sends a session byte by byte, in two pieces at every byte, and with a stall at every frame
// boundary and in every frame; nothing of it may show.
func TestFaultsDelay(t *testing.T) {
	eachFaultWay(t, func(t *testing.T, way how) {
		b := newFaultBench(t, way, nil)
		b.undisturbed()
		if err := b.quiet(); err != nil {
			t.Fatal(err)
		}
		goroutines, files := runtime.NumGoroutine(), openFiles(t)
		for side := range b.sides {
			plans := []wiretest.Plan{{Trickle: true}, {Trickle: true, For: 20 * time.Microsecond}}
			var stalls, splits []wiretest.Plan
			for _, p := range b.places(side) {
				p.Action, p.For = wiretest.Stall, 20*time.Millisecond
				stalls = append(stalls, p)
			}
			for d, count := range b.bytes[side][0] {
				for at := 1; at < count; at++ {
					splits = append(splits, wiretest.Plan{Direction: wiretest.Direction(d), Split: at, For: 300 * time.Microsecond})
				}
			}
			plans = append(append(plans, some(stalls, 2)...), some(splits, 4)...)
			for _, p := range plans {
				b.use(side, p)
				if err := b.right(p.Split > 0); err != nil {
					t.Errorf("%s's side: %v: %v", side, p, err)
				}
			}
			t.Logf("%s's side: %d sessions with delays, of %d places and %d bytes", side, len(plans), len(stalls), len(splits))
		}
		b.use("client", wiretest.Plan{})
		if err := b.quiet(); err != nil {
			t.Error(err)
		}
		b.clean(goroutines, files)
	})
}

// TestFaultsStartup stalls for good at every frame boundary of startup and in every frame: the proxy's
// timeout ends it, unless all that is missing is what the proxy has already sent to the client.
func TestFaultsStartup(t *testing.T) {
	// The shorter the limit, the sooner the test is over; but a busy machine may need more to reach the place.
	const short, long = 600 * time.Millisecond, 8 * time.Second
	eachFaultWay(t, func(t *testing.T, way how) {
		b := newFaultBench(t, way, nil)
		startup := func() error {
			ctx, cancel := context.WithTimeout(t.Context(), proxytest.Patience)
			defer cancel()
			conn, err := pgconn.Connect(ctx, b.dsn)
			if err != nil {
				return err
			}
			return conn.Close(ctx)
		}
		if err := startup(); err != nil {
			t.Fatal(err)
		}
		for side, m := range b.sides {
			b.frames[side], _ = m.Seen()
			for i := range b.frames[side] { // Terminate, and what closes TLS
				b.frames[side][i][wiretest.Forward] -= 2
				b.frames[side][i][wiretest.Back]--
			}
		}
		if err := b.quiet(); err != nil {
			t.Fatal(err)
		}
		goroutines, files := runtime.NumGoroutine(), openFiles(t)
		// reach begins a startup and reports whether it is stalled.
		reach := func(side string, p wiretest.Plan, limit time.Duration) (<-chan error, bool) {
			if err := b.proxy.Reload(Limits{TLS: shared.serverTLS(), StartupTimeout: limit, DrainTimeout: proxytest.Patience}); err != nil {
				t.Fatal(err)
			}
			b.use(side, p)
			ended := make(chan error, 1)
			go func() { ended <- startup() }()
			m := b.sides[side]
			proxytest.Eventually(t, "the place is reached", func() bool { return m.Struck() || len(ended) > 0 })
			return ended, m.Struck()
		}
		for side, m := range b.sides {
			plans, missed := some(b.places(side), 4), 0
			for _, p := range plans {
				p.Action, p.For = wiretest.Stall, 3*proxytest.Patience
				ended, reached := reach(side, p, short)
				if !reached {
					<-ended //nolint:errcheck // that it has ended is all that counts
					ended, reached = reach(side, p, long)
				}
				if !reached {
					missed++ // how the records of TLS fall depends on the time
					continue
				}
				// The proxy's end of it; the client may be waiting for the middleman.
				proxytest.Eventually(t, "the proxy has ended the startup", func() bool { return b.proxy.starting.Load() == 0 })
				known := b.proxy.sessions.Census().Known > 0
				m.Cut()
				err := <-ended
				// One record of TLS less may come before the last word of startup than the first time.
				last := faultsWithTLS(way) && side == "client" && p.Frame >= b.frames[side][0][p.Direction]-1
				if last && (p.Direction == wiretest.Forward && known || p.Direction == wiretest.Back && err == nil) {
					missed++
				} else {
					if known && (side == "server" || p.Direction == wiretest.Forward) {
						t.Errorf("%s's side: %v: there is a session", side, p)
					}
					if err == nil {
						t.Errorf("%s's side: %v: the client has a session", side, p)
					}
				}
				if err := b.quiet(); err != nil {
					t.Errorf("%s's side: %v: %v", side, p, err)
				}
			}
			t.Logf("%s's side: %d stalls in startup, of which %d places were not there", side, len(plans), missed)
			if missed > 2+len(plans)/4 {
				t.Errorf("%s's side: too many places were missed", side)
			}
		}
		if err := b.proxy.Reload(Limits{TLS: shared.serverTLS(), StartupTimeout: proxytest.Patience, DrainTimeout: proxytest.Patience}); err != nil {
			t.Fatal(err)
		}
		b.clean(goroutines, files)
	})
}
