package sagas

import (
	"context"
	"fmt"
	"net"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"mbusproxy/examples/saga/tour" //nolint:depguard // the example is a client, no part of the product

	"mbusproxy/integration/internal/harness"
)

// saga is a database with the example's tables and queues, and what a test does to its services.
type saga struct {
	database string
	conn     *pgx.Conn // through the proxy; of the test itself
	server   *pgconn.PgConn

	mu      sync.Mutex // guards server and sockets
	sockets map[string]*net.TCPConn
}

func newSaga(t *testing.T) *saga {
	t.Helper()
	database := harness.NewDatabase(t)
	s := &saga{
		database: database,
		conn:     harness.ConnectPgx(t, harness.Proxied(), database, pgx.QueryExecModeCacheStatement),
		server:   harness.Connect(t, harness.Direct(), database),
		sockets:  map[string]*net.TCPConn{},
	}
	if err := tour.Setup(harness.Context(t), s.conn); err != nil {
		t.Fatal(harness.Describe(err))
	}
	return s
}

// serve runs the services whose names begin with one of the prefixes, or all, until the test ends.
func (s *saga) serve(t *testing.T, cfg tour.Config, prefixes ...string) {
	t.Helper()
	cfg.DSN = harness.Proxied().DSN(s.database)
	cfg.RetryDelay = 20 * time.Millisecond
	watch := cfg.Watch
	cfg.Watch = func(e tour.Event) {
		if strings.Contains(e.Text, "40P01") {
			t.Errorf("%s: services waited for each other: %s", e.Service, e.Text)
		}
		if e.Moment == tour.Committed && strings.HasPrefix(e.Text, "dropped") {
			t.Errorf("%s: %s of tour %d was still delivered when the tour was rolling back", e.Service, e.Step, e.TourID)
		}
		if watch != nil {
			watch(e)
		}
	}
	cfg.Tune = func(name string, c *pgx.ConnConfig) {
		// Not the function that dials: pgx calls it for requests to cancel as well.
		c.AfterConnect = func(_ context.Context, conn *pgconn.PgConn) error {
			s.mu.Lock()
			defer s.mu.Unlock()
			s.sockets[name] = conn.Conn().(*net.TCPConn)
			return nil
		}
	}
	ctx, stop := context.WithCancel(harness.Context(t))
	stopped := make(chan struct{})
	var services sync.WaitGroup
	for _, service := range tour.Services() {
		if wanted(service.Name, prefixes) {
			services.Go(func() { service.Run(ctx, cfg) })
		}
	}
	go func() {
		services.Wait()
		close(stopped)
	}()
	t.Cleanup(func() {
		stop()
		select {
		case <-stopped:
		case <-time.After(harness.AskLimit):
			t.Error("the services do not stop")
		}
	})
}

func wanted(name string, prefixes []string) bool {
	for _, p := range prefixes {
		if strings.HasPrefix(name, p) {
			return true
		}
	}
	return len(prefixes) == 0
}

// book starts a tour and waits for its end.
func (s *saga) book(t *testing.T) tour.Report {
	t.Helper()
	return s.await(t, s.start(t))
}

func (s *saga) start(t *testing.T) int64 {
	t.Helper()
	id, err := tour.Start(harness.Context(t), s.conn, t.Name())
	if err != nil {
		t.Fatal(harness.Describe(err))
	}
	return id
}

func (s *saga) await(t *testing.T, id int64) tour.Report {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), harness.AskLimit)
	defer cancel()
	r, err := tour.Await(ctx, s.conn, id)
	if err != nil {
		t.Fatalf("%v\n%+v\n%s", harness.Describe(err), r, s.ask(t, "select m.iid, m.available_at, c.qname, m.after from mbus4.message m join mbus4.consumer c on c.id = m.consumer_id"))
	}
	return r
}

// ask runs a query on the server directly. Safe for concurrent use.
func (s *saga) ask(t *testing.T, sql string, args ...any) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	ctx, cancel := context.WithTimeout(context.Background(), harness.AskLimit)
	defer cancel()
	got, err := harness.Query(ctx, s.server, sql, args...)
	if err != nil {
		t.Errorf("%s: %s", sql, harness.Describe(err))
	}
	return got
}

// until runs a query with one boolean until it is true. Unlike await it may be called by a service.
func (s *saga) until(t *testing.T, sql string, args ...any) {
	deadline := time.Now().Add(harness.AskLimit)
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for s.ask(t, sql, args...) != "t" {
		if t.Failed() || time.Now().After(deadline) {
			t.Errorf("not in time: %s %v", sql, args)
			return
		}
		<-tick.C
	}
}

// pass waits for a channel to be closed. Services may call it: the end of the test lets them go.
func pass(t *testing.T, ch <-chan struct{}) {
	select {
	case <-ch:
	case <-t.Context().Done():
	case <-time.After(harness.AskLimit):
		t.Error("a channel was not closed in time")
	}
}

// untilBlocked waits until a session of the database waits for a row that another one has changed.
func (s *saga) untilBlocked(t *testing.T) {
	s.until(t, "select exists (select from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock' and wait_event = 'transactionid')")
}

// cut breaks the connection under the transactions of a service.
func (s *saga) cut(t *testing.T, service string) {
	pids := s.backends(t, service)
	s.mu.Lock()
	tcp := s.sockets[service]
	_ = tcp.SetLinger(0) // it may be broken already, as may be below
	_ = tcp.Close()
	s.mu.Unlock()
	s.untilGone(t, pids)
}

// terminate ends the server's process behind a service.
func (s *saga) terminate(t *testing.T, service string) {
	pids := s.backends(t, service)
	s.ask(t, "select pg_terminate_backend(p) from unnest($1::int[]) p", pids)
	s.untilGone(t, pids)
}

// backends is an array of the server's processes that serve a service now.
func (s *saga) backends(t *testing.T, service string) string {
	return s.ask(t, "select coalesce(array_agg(pid), '{}') from pg_stat_activity where datname = current_database() and application_name = $1", service)
}

func (s *saga) untilGone(t *testing.T, pids string) {
	s.until(t, "select not exists (select from pg_stat_activity where pid = any ($1::int[]))", pids)
}

// What breaks the promise: every step of a tour is booked outside exactly once and kept, or every
// booking there is was cancelled exactly once; and our own record says the same.
const brokenSQL = `
select t.tour_id, t.state, s.step, r.state, o.*
from tour t
cross join unnest(array['room', 'ticket-to', 'ticket-from', 'transfer-to', 'transfer-from']) s (step)
left join reservation r on r.tour_id = t.tour_id and r.step = s.step
cross join lateral (
	select count(distinct b.key) as keys, count(distinct b.key) filter (where b.state = 'booked') as standing,
	       count(*) filter (where l.what = 'booked') as booked, count(*) filter (where l.what = 'cancelled') as cancelled
	from outside.booking b
	left join outside.ledger l using (key)
	where b.tour_id = t.tour_id and b.step = s.step
) o
where case t.state
      when 'booked' then (o.keys, o.standing, o.booked, o.cancelled) <> (1, 1, 1, 0) or r.state is distinct from 'booked'
      when 'cancelled' then o.keys > 1 or o.standing > 0 or o.booked > 1 or o.cancelled <> o.booked or r.state in ('asked', 'booked')
      else true end`

// check holds the finished tours to all or nothing, and looks for messages left behind.
func (s *saga) check(t *testing.T, wanted ...tour.State) {
	t.Helper()
	if got, want := s.ask(t, "select string_agg(state, ',' order by tour_id) from tour"), fmt.Sprint(wanted); "["+strings.ReplaceAll(got, ",", " ")+"]" != want && wanted != nil {
		t.Errorf("tours are %s; want %s", got, want)
	}
	if broken := s.ask(t, brokenSQL); broken != "" {
		t.Errorf("not all or nothing (tour, its state, step, our record, keys, standing, booked, cancelled outside):\n%s", broken)
	}
	if left := s.ask(t, "select iid from mbus4.message"); left != "" {
		t.Errorf("messages are left in queues:\n%s", left)
	}
}

// outcome is what became of a step: on our record, outside, and how often it was booked there.
func (s *saga) outcome(t *testing.T, step tour.Step) string {
	t.Helper()
	return s.ask(t, `
		select r.state, b.state, (select count(*) from outside.ledger l where l.key = b.key and l.what = 'booked')
		from (values ($1)) s (step)
		left join reservation r using (step)
		left join outside.booking b using (step)`, step)
}
