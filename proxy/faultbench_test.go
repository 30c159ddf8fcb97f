package proxy

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"runtime"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgconn"

	"mbusproxy/internal/wiretest"
	"mbusproxy/proxy/internal/proxytest"
	"mbusproxy/proxy/relay"
)

// faultBench is a proxy under test. A middleman stands between client and proxy, and one between proxy and server.
type faultBench struct {
	*testing.T
	proxy  *running
	sides  map[string]*wiretest.Middleman
	dsn    string
	admin  *pgconn.PgConn
	frames map[string][][2]int // by side, of a session that nobody disturbs
	bytes  map[string][][2]int
}

// loopsPlain is the way of sessions in a loop without TLS; all others have it.
var loopsPlain = how{"loops", 2}

func faultsWithTLS(way how) bool { return way != loopsPlain }

// eachFaultWay is eachWay with TLS in loops as well.
func eachFaultWay(t *testing.T, f func(t *testing.T, way how)) {
	eachWay(t, f)
	if relay.DefaultLoops() > 0 {
		t.Run("loops, TLS", func(t *testing.T) { f(t, how{"loops, TLS", 2}) })
	}
}

// thorough reports whether all places are to be tried and not a few drawn at random, and storms are to be as large as they can.
func thorough() bool { return os.Getenv("MBUS_LONG") != "" }

func newFaultBench(t *testing.T, way how, change func(*Config)) *faultBench {
	t.Helper()
	b := &faultBench{
		T: t, sides: map[string]*wiretest.Middleman{},
		frames: map[string][][2]int{}, bytes: map[string][][2]int{},
	}
	between := func(side, target string) *wiretest.Middleman {
		m, err := wiretest.NewMiddleman(target)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(m.Close)
		b.sides[side] = m
		return m
	}
	server := between("server", fmt.Sprintf("127.0.0.1:%d", shared.cluster.Port()))
	b.proxy = start(t, way, func(c *Config) {
		c.Rewriter, c.TLS = proxytest.Marking{}, shared.serverTLS()
		c.StartupTimeout = 3 * proxytest.Patience // nothing is to end by that where a test waits for it
		c.Upstream = fmt.Sprintf("host=127.0.0.1 port=%d sslmode=disable", server.Addr().Port)
		if change != nil {
			change(c)
		}
	})
	client := between("client", b.proxy.addr)
	mode := "require"
	if !faultsWithTLS(way) {
		mode = "disable"
	}
	b.dsn = fmt.Sprintf("host=127.0.0.1 port=%d user=scram_user password=secret dbname=postgres application_name=fault sslmode=%s",
		client.Addr().Port, mode)
	ctx, cancel := context.WithTimeout(t.Context(), proxytest.Patience)
	defer cancel()
	var err error
	if b.admin, err = pgconn.Connect(ctx, shared.cluster.DSN("postgres")); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = b.admin.Close(context.Background()) })
	return b
}

// undisturbed runs the session in peace and notes how much passes.
func (b *faultBench) undisturbed() {
	b.Helper()
	b.use("client", wiretest.Plan{})
	if err := b.right(false); err != nil {
		b.Fatal(err)
	}
	for side, m := range b.sides {
		b.frames[side], b.bytes[side] = m.Seen()
	}
}

// use gives the middleman of a side a plan, and the other none.
func (b *faultBench) use(side string, p wiretest.Plan) {
	for s, m := range b.sides {
		if s == side {
			m.Use(p)
		} else {
			m.Use(wiretest.Plan{})
		}
	}
}

// right runs the session, which must go as if nobody disturbed it.
func (b *faultBench) right(brief bool) error {
	b.Helper()
	faultTable(b.T, b.admin, "truncate items")
	ctx, cancel := context.WithTimeout(b.Context(), proxytest.Patience)
	defer cancel()
	if _, err := (faultClient{dsn: b.dsn, sleep: proxytest.Patience.Seconds(), brief: brief}).run(ctx); err != nil {
		return err
	}
	return b.rows(faultRows)
}

func (b *faultBench) rows(want ...int) error {
	got := faultTable(b.T, b.admin, "select count(*) from items")
	for _, n := range want {
		if got == fmt.Sprint(n) {
			return nil
		}
	}
	return fmt.Errorf("%s rows, want one of %v", got, want)
}

// cut runs the session with a plan that cuts it and looks at what is left.
func (b *faultBench) cut(side string, plan wiretest.Plan) error {
	b.Helper()
	faultTable(b.T, b.admin, "truncate items")
	b.use(side, plan)
	ctx, cancel := context.WithTimeout(b.Context(), proxytest.Patience)
	defer cancel()
	committed, err := (faultClient{dsn: b.dsn, sleep: 0.05, mayMiss: true}).run(ctx)
	if ctx.Err() != nil {
		return fmt.Errorf("the client hangs: %w", err)
	}
	if !b.sides[side].Struck() {
		return fmt.Errorf("the place was not reached: %w", err)
	}
	if err := b.quiet(); err != nil {
		return err
	}
	if committed {
		return b.rows(faultRows)
	}
	return b.rows(0, faultRows) // it may have been cut between the commit and the word of it
}

// quiet waits until nothing is left of a session: not in the proxy, the middlemen or the server.
func (b *faultBench) quiet() error {
	tick := time.NewTicker(time.Millisecond)
	defer tick.Stop()
	until := time.After(proxytest.Patience)
	for {
		left := ""
		if n := b.proxy.sessions.Census().Known; n > 0 {
			left = fmt.Sprintf("%d sessions in the proxy", n)
		}
		for side, m := range b.sides {
			if n := m.Open(); n > 0 {
				left = fmt.Sprintf("%d connections at the %s's side", n, side)
			}
		}
		if left == "" {
			if n := faultTable(b.T, b.admin, "select count(*) from pg_stat_activity where usename = 'scram_user'"); n != "0" {
				left = n + " sessions in the server"
			}
		}
		if left == "" {
			return nil
		}
		select {
		case <-until:
			return fmt.Errorf("left: %s\n%s", left, stacks())
		case <-tick.C:
		}
	}
}

// clean checks at the end that the proxy has kept nothing and works.
func (b *faultBench) clean(goroutines, files int) {
	b.Helper()
	proxytest.Eventually(b.T, "goroutines have ended", func() bool { return runtime.NumGoroutine() <= goroutines })
	proxytest.Eventually(b.T, "files are closed", func() bool { return openFiles(b.T) <= files })
	keys := b.proxy.sessions.Census().Keys
	if n := b.proxy.sessions.Counts.Panics.Load(); keys > 0 || n > 0 {
		b.Errorf("%d cancel keys, %d panics", keys, n)
	}
	b.use("client", wiretest.Plan{})
	if err := b.right(false); err != nil {
		b.Error(err)
	}
}

// places lists the places of the undisturbed session: behind each frame and in its middle. Of the
// connections for cancelling only the first counts, for how often it is tried depends on the time.
func (b *faultBench) places(side string) (all []wiretest.Plan) {
	for n, frames := range b.frames[side] {
		if n > 1 {
			break
		}
		for d, count := range frames {
			for f := -1; f < count; f++ {
				p := wiretest.Plan{Connection: n, Direction: wiretest.Direction(d), Frame: f}
				all = append(all, p)
				if f >= 0 {
					p.Middle = true
					all = append(all, p)
				}
			}
		}
	}
	return all
}

// some draws up to n, unless all are to be tried.
func some[E any](all []E, n int) []E {
	if thorough() || len(all) <= n {
		return all
	}
	rand.Shuffle(len(all), func(i, j int) { all[i], all[j] = all[j], all[i] })
	return all[:n]
}

// maybeMissed tells of a place that another run of the session may not have: how the records of TLS
// fall, which hold more replies each the later the proxy reads them, and what comes behind the
// commit depend on the time.
func (b *faultBench) maybeMissed(side string, p wiretest.Plan) bool {
	return p.Connection > 0 || p.Middle || p.Direction == wiretest.Back && side == "client" || p.Frame >= b.frames[side][0][p.Direction]-6
}
