package model

import (
	"math/rand/v2"
	"sync/atomic"
	"testing"
	"time"

	"mbusproxy/internal/wiretest"

	"mbusproxy/integration/internal/harness"
)

const (
	longestStep = 1500 * time.Millisecond // by which the clock is set at a time
	farthestOff = 20 * time.Second        // that it gets from ours
	// hintSearch is how long what was posted by a clock that was set back may lie where nobody
	// looks: see engine/housekeeping/hinter.go.
	hintSearch = 10 * time.Second
)

// TestModelCrashes is TestModelWorkers while the proxies are killed one after another and start
// again, and the server's clock is set forward and back: the books balance all the same.
//
// The settings are those of TestModel.
func TestModelCrashes(t *testing.T) {
	t.Parallel()
	limit, seed := wiretest.Settings(t, "MBUS_MODEL", 10*time.Second)
	postgres := harness.NewSteppedServer(t)
	books, proxies := postgres.NewProxy(t), []*harness.Proxy{postgres.NewProxy(t), postgres.NewProxy(t)}
	database := postgres.NewQueueDatabase(t, books, "wa", "wb", "tick")
	c := &modelStaff{
		database: database, until: time.Now().Add(limit / 2), crashes: make([]atomic.Int64, len(proxies)), patience: hintSearch + 2*longestStep,
	}
	for _, p := range proxies {
		c.ends = append(c.ends, p.Endpoint)
	}
	direct := harness.Connect(t, postgres.Endpoint, database)
	random := rand.New(rand.NewPCG(seed, 1<<32))
	kills, forward, back := 0, 0, 0
	c.play(t, harness.Connect(t, books.Endpoint, database), limit, seed, func() {
		for time.Now().Before(c.until) {
			<-time.After(time.Duration(random.Int64N(int64(time.Second))))
			if random.IntN(3) == 0 {
				i := random.IntN(len(proxies))
				c.crashes[i].Add(1)
				if err := proxies[i].Crash(); err != nil {
					t.Error(err)
					return
				}
				c.crashes[i].Add(1)
				kills++
				continue
			}
			step := time.Duration(random.Int64N(2*int64(longestStep))) - longestStep
			if off := postgres.Off() + step; off.Abs() > farthestOff {
				step = -step
			}
			if forward++; step < 0 {
				forward--
				back++
				harness.Ask(t, direct, "insert into set_back select nextval('event_seq_seq')")
			}
			postgres.Step(t, step)
		}
	})
	t.Logf("%d proxies killed, the clock set forward %d times and back %d times", kills, forward, back)
}

// TestModelWaitsSet is TestModelWaits with a server whose clock is set, and with a proxy that is
// killed with what it holds.
func TestModelWaitsSet(t *testing.T) {
	t.Parallel()
	limit, seed := wiretest.Settings(t, "MBUS_MODEL", 6*time.Second)
	postgres := harness.NewSteppedServer(t)
	first, second, third := postgres.NewProxy(t), postgres.NewProxy(t), postgres.NewProxy(t)
	r := &waitRun{
		T: t, database: postgres.NewQueueDatabase(t, first, "q"), ends: []harness.Endpoint{first.Endpoint, second.Endpoint}, counts: map[string]int{},
		ways: append(setWays(postgres, third), waitWays...),
	}
	r.direct, r.past, r.poster = r.dial(postgres.Endpoint), r.dial(postgres.Endpoint), r.dial(r.ends[1])
	r.play(limit, seed)
}

// setWays are ways in which messages become deliverable when the clock is set, or when a proxy is killed.
func setWays(postgres *harness.SteppedServer, proxy *harness.Proxy) []waitWay {
	const hour = time.Hour
	return []waitWay{
		{"the clock passes over a delay", func(r *waitRun, n int) { r.does(r.poster, postDelayed, n, hour.Milliseconds()) }, func(r *waitRun, _ int) time.Time {
			r.history = append(r.history, "-- the clock is set forward")
			postgres.Step(r.T, hour)
			return time.Now()
		}},
		{"the clock passes over leases", func(r *waitRun, n int) {
			r.does(r.poster, postSome, n)
			r.does(r.poster, leaseSome, n, "1 hour")
		}, func(r *waitRun, _ int) time.Time {
			r.history = append(r.history, "-- the clock is set forward")
			postgres.Step(r.T, hour)
			return time.Now()
		}},
		{"a post after the clock was set back", nil, func(r *waitRun, n int) time.Time {
			r.history = append(r.history, "-- the clock is set back")
			postgres.Step(r.T, -longestStep)
			r.does(r.poster, postSome, n)
			return time.Now()
		}},
		{"a proxy is killed that holds it", func(r *waitRun, n int) {
			r.does(r.poster, postSome, n)
			held := r.dial(proxy.Endpoint)
			r.does(held, "begin")
			r.does(held, "select count(*) from mbus4.consumen('q', amt => 5) m")
		}, func(r *waitRun, _ int) time.Time {
			r.history = append(r.history, "-- a proxy is killed")
			due := time.Now().Add(100 * time.Millisecond)
			if err := proxy.Crash(); err != nil {
				r.fail("%v", err)
			}
			return due
		}},
	}
}
