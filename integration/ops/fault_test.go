package ops

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgconn"

	"mbusproxy/internal/wiretest"

	"mbusproxy/integration/internal/forms"
	"mbusproxy/integration/internal/harness"
)

// faultSteps are what a client does with a queue, one transaction each, and what is there after it: the
// messages of q and those that are done.
func faultSteps() []faultStep {
	return []faultStep{
		{[]forms.Step{forms.Do("select mbus4.post('q', 'n=>1', iid => 'a')")}, "a|∅"},
		{[]forms.Step{forms.Do("begin"), forms.Do("select mbus4.post($1, $2, iid => $3)", "q", "n=>2", "b"), forms.Do("commit")}, "a,b|∅"},
		{[]forms.Step{forms.Do("begin"), forms.Do("select mbus4.post($1, $2, iid => $3)", "q", "n=>3", "c"), forms.Do("rollback")}, "a,b|∅"},
		{[]forms.Step{forms.Do("select iid from mbus4.consume($1)", "q")}, "b|∅"},
		{[]forms.Step{
			forms.Do("begin"), forms.Do("select mbus4.post('q', 'n=>4', iid => 'd')"),
			forms.Do("insert into done select iid from mbus4.consume('q')"), forms.Do("select mbus4.is_msg_exists($1)", "b"), forms.Do("commit"),
		}, "d|b"},
		{[]forms.Step{forms.Do("select mbus4.run_on_q($1)", "insert into done select ($1).iid")}, "∅|b,d"},
	}
}

type faultStep struct {
	steps []forms.Step
	after string
}

// TestFaultsQueue cuts a session with calls at every frame boundary and in every frame, between client and
// proxy and between proxy and server: a transaction is done or not, nothing is lost or doubled, and nothing
// of the session stays anywhere.
func TestFaultsQueue(t *testing.T) {
	t.Parallel()
	server, err := wiretest.NewMiddleman(fmt.Sprintf("%s:%d", harness.Direct().Host, harness.Direct().Port))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(server.Close)
	// The engine's own connections go straight to the server.
	p := harness.NewProxy(t, "--upstream", harness.Endpoint{Name: "middleman", Host: "127.0.0.1", Port: server.Addr().Port}.DSN("postgres"))
	client, err := wiretest.NewMiddleman(fmt.Sprintf("%s:%d", p.Endpoint.Host, p.Endpoint.Port))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(client.Close)
	b := &faultBench{
		T: t, proxy: p, database: harness.NewQueueDatabase(t, "q"), through: harness.Endpoint{Name: "disturbed", Host: "127.0.0.1", Port: client.Addr().Port},
		sides: map[string]*wiretest.Middleman{"client": client, "server": server},
	}
	b.server = harness.Connect(t, harness.Direct(), b.database)
	harness.Ask(t, b.server, "create table done (iid text)")

	// Twice, for the first one makes the proxy open the database.
	for range 2 {
		b.play("client", wiretest.Plan{})
	}
	seen := map[string][2]int{}
	for side, m := range b.sides {
		frames, _ := m.Seen()
		seen[side] = frames[0]
	}
	files := b.files()
	for side := range b.sides {
		var plans []wiretest.Plan
		for d, count := range seen[side] {
			for f := -1; f < count-1; f++ {
				for _, action := range []wiretest.Action{wiretest.Finish, wiretest.Reset} {
					plan := wiretest.Plan{Direction: wiretest.Direction(d), Frame: f, Action: action}
					plans = append(plans, plan)
					if f >= 0 {
						plan.Middle = true
						plans = append(plans, plan)
					}
				}
			}
		}
		all := len(plans)
		if !harness.Long() {
			rand.Shuffle(all, func(i, j int) { plans[i], plans[j] = plans[j], plans[i] })
			plans = plans[:20]
		}
		for _, plan := range plans {
			b.play(side, plan)
		}
		t.Logf("%s's side: cut at %d places of %d", side, len(plans), all)
	}
	b.play("client", wiretest.Plan{})
	harness.Eventually(t, func() string {
		if open := b.files(); open > files {
			return fmt.Sprintf("the proxy has %d files open, before it had %d", open, files)
		}
		return ""
	})
}

// faultBench is a proxy between two middlemen.
type faultBench struct {
	*testing.T
	proxy    *harness.Proxy
	database string
	through  harness.Endpoint
	server   *pgconn.PgConn // direct
	sides    map[string]*wiretest.Middleman
}

// files counts the descriptors of the proxy.
func (b *faultBench) files() int {
	b.Helper()
	entries, err := os.ReadDir(fmt.Sprintf("/proc/%d/fd", b.proxy.PID()))
	if err != nil {
		b.Fatal(err)
	}
	return len(entries)
}

// play runs the session from an empty queue with a plan and looks at what it leaves.
func (b *faultBench) play(side string, plan wiretest.Plan) {
	b.Helper()
	harness.Ask(b.T, b.server, "delete from mbus4.message; delete from done")
	for s, m := range b.sides {
		if s == side {
			m.Use(plan)
		} else {
			m.Use(wiretest.Plan{})
		}
	}
	began := time.Now()
	done, err := b.session()
	if plan.Action == wiretest.Nothing {
		if err != nil {
			b.Fatal(err)
		}
	} else if !b.sides[side].Struck() {
		b.Errorf("%s's side: %v: the place was not reached: %v", side, plan, err)
	}
	if errors.Is(err, context.DeadlineExceeded) {
		b.Errorf("%s's side: %v: the client hangs", side, plan)
	}
	harness.Await(b.T, b.server, "select count(*) = 0 from pg_stat_activity where application_name = 'fault'")
	ctx, cancel := context.WithDeadline(b.Context(), began.Add(harness.AskLimit))
	defer cancel()
	for s, m := range b.sides {
		if !m.AwaitEmpty(ctx) {
			b.Fatalf("%s's side: %v: connections are left at the %s's side\n%s", side, plan, s, b.proxy.LogTail())
		}
	}
	left := harness.Ask(b.T, b.server, `select (select string_agg(iid, ',' order by iid) from mbus4.message),
		(select string_agg(iid, ',' order by iid) from done)`)
	steps := faultSteps()
	before := "∅|∅"
	if done > 0 {
		before = steps[done-1].after
	}
	after := before // or the next one, of whose end the client was not told
	if done < len(steps) {
		after = steps[done].after
	}
	if left != before && left != after {
		b.Errorf("%s's side: %v: there is %q after %d transactions, want %q or %q", side, plan, left, done, before, after)
	}
}

// session plays the steps and returns how many ended well.
func (b *faultBench) session() (done int, err error) {
	ctx, cancel := context.WithTimeout(b.Context(), harness.AskLimit)
	defer cancel()
	conn, err := pgconn.Connect(ctx, b.through.DSN(b.database)+" application_name=fault")
	if err != nil {
		return 0, err
	}
	defer func() {
		harness.Close(conn)
		// One that broke asks the server for a cancel, over a connection that the next play would count.
		select {
		case <-conn.CleanupDone():
		case <-ctx.Done():
		}
	}()
	for _, transaction := range faultSteps() {
		for _, s := range transaction.steps {
			if _, err := harness.Query(ctx, conn, s.SQL, s.Args...); err != nil {
				return done, err
			}
		}
		done++
	}
	return done, nil
}
