package ops

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"mbusproxy/integration/internal/harness"
)

// nextStep is a step of the schema that the next version of the program has, and nextFunctions how it defines functions: with
// another text, all of them get other names.
const (
	nextStep = `alter table mbus4.consumer add column next_version int;
alter table mbus4.queue add column next_version int;
update mbus4.consumer set next_version = 1;
`
	nextFunctions = `create or replace function {{.Signature}} returns {{if .Set}}setof {{end}}{{.Returns}} language sql volatile cost 101{{if .Set}} rows 1{{end}} as {{.Body}}
`
)

// This version and the next one serve a database under traffic: first the old one, then
// both, then the new one, then both and the old one again, each killed now and then. Nothing is
// lost, nothing comes twice, and no client sees an error but that its connection is gone.
func TestTwoVersions(t *testing.T) {
	t.Parallel()
	old := "" // this one
	database := harness.NewDatabase(t)
	direct := harness.Connect(t, harness.Direct(), database)
	harness.Ask(t, direct, "create table sent (iid text); create table got (iid text); create extension hstore")

	v := versions{t: t, database: database, direct: direct}
	v.use(harness.NewProxyOf(t, old))
	setUp := harness.Connect(t, v.route()[0].Endpoint, database)
	harness.Ask(t, setUp, "select mbus4.create_queue('q', 1), mbus4.create_queue('r', 1), mbus4.create_trigger('q', 'r')")
	harness.Ask(t, setUp, "select mbus4.create_consumer('q', 'picky', selector => $1)", "t.data->'n' < '5'")
	harness.Close(setUp)
	version := func() string { return harness.Ask(t, direct, "select max(version) from mbus4.schema_version") }
	before := version()
	newest, err := strconv.Atoi(before)
	if err != nil {
		t.Fatal(err)
	}
	next := harness.BuildWith(t, map[string]string{
		fmt.Sprintf("engine/schema/steps/%04d_next_version.sql", newest+1): nextStep,
		"engine/calls/sql/whole/function.sql":                              nextFunctions,
	})

	ctx, stop := context.WithCancel(harness.Context(t))
	var clients sync.WaitGroup
	for i := range 6 {
		clients.Go(func() { v.client(ctx, i) })
	}
	phase := func(what string, binaries ...string) {
		var route []*harness.Proxy
		for _, b := range binaries {
			route = append(route, harness.NewProxyOf(t, b))
		}
		gone := v.route()
		v.use(route...)
		for _, p := range gone { // as in a crash: its clients go over to the others
			if err := p.Kill(); err != nil {
				t.Error(err)
			}
		}
		for i, b := range binaries {
			v.work(100)
			p := harness.NewProxyOf(t, b)
			killed := v.replace(i, p)
			if err := killed.Kill(); err != nil {
				t.Error(err)
			}
		}
		v.work(100)
		t.Logf("%s: version %s of the schema, %d transactions, %d connections lost, the slowest transaction %v",
			what, version(), v.done.Load(), v.lost.Load(), time.Duration(v.slowest.Swap(0)).Round(time.Millisecond))
	}
	phase("the old version", old)
	if after := version(); after != before {
		t.Errorf("the old version changed the schema from %s to %s", before, after)
	}
	phase("both", old, next)
	phase("the new version", next)
	after := version()
	if after == before {
		t.Errorf("the schema has version %s still", after)
	}
	phase("both again", next, old)
	phase("the old version again", old)
	// Somebody runs init of the new version meanwhile.
	if out, err := harness.InitOf(t, next, database); err != nil || !strings.Contains(out, "is up to date") {
		t.Errorf("init: %v\n%s", err, out)
	}
	v.work(100)
	stop()
	clients.Wait()
	for _, f := range v.failures {
		t.Error(f)
	}

	// What transactions hold that were broken off is skipped, until the server has rolled them back.
	harness.Await(t, direct, `select not exists (
		select from pg_stat_activity where datname = current_database() and pid <> pg_backend_pid() and (backend_xid is not null or state like 'idle in transaction%'))`)
	last := harness.Connect(t, v.route()[0].Endpoint, database)
	for _, from := range []string{"'q'", "'q', 'picky'", "'r'"} {
		for harness.Ask(t, last, "with m as (select * from mbus4.consumen("+from+", amt => 1000)), kept as (insert into got select "+sideOf(from)+" || coalesce(m.data->'iid', '') from m returning 1) select count(*) from kept") != "0" {
		}
	}
	for side, condition := range map[string]string{"q ": "true", "p ": "right(iid, 1) < '5'", "r ": "true"} {
		count := "select count(*) from (%s) x"
		expected := fmt.Sprintf("select '%s' || iid from sent where %s", side, condition)
		got := fmt.Sprintf("select iid from got where left(iid, 2) = '%s'", side)
		for what, sql := range map[string]string{"lost": expected + " except all " + got, "come twice or from nowhere": got + " except all " + expected} {
			if n := harness.Ask(t, direct, fmt.Sprintf(count, sql)); n != "0" {
				t.Errorf("%s messages of %s have %s", n, side, what)
				t.Log(harness.Ask(t, direct, fmt.Sprintf("select row(m.*, m.ctid, clock_timestamp()) from mbus4.message m where '%s' || (m.data->'iid') in (%s)", side, sql)))
				t.Log(harness.Ask(t, direct, "select c.id, c.qname, c.name, c.hint, pg_sequence_last_value(('mbus4.hint_' || coalesce(c.hint, c.id % 128))::regclass) from mbus4.consumer c"))
			}
		}
	}
	if harness.Ask(t, direct, "select count(*) > 500 from sent") != "t" {
		t.Error("hardly anything was sent")
	}
}

func sideOf(from string) string {
	switch from {
	case "'q'":
		return "'q '"
	case "'r'":
		return "'r '"
	}
	return "'p '"
}

// versions is the traffic and the proxies that it goes through.
type versions struct {
	t        *testing.T
	database string
	direct   *pgconn.PgConn

	mu       sync.Mutex
	proxies  []*harness.Proxy
	failures []string

	done, lost atomic.Int64 // transactions committed; connections lost
	slowest    atomic.Int64 // nanoseconds of a transaction
}

func (v *versions) route() []*harness.Proxy {
	v.mu.Lock()
	defer v.mu.Unlock()
	return slices.Clone(v.proxies)
}

func (v *versions) use(proxies ...*harness.Proxy) {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.proxies = proxies
}

// replace puts a proxy in the place of another, which it gives.
func (v *versions) replace(i int, p *harness.Proxy) *harness.Proxy {
	v.mu.Lock()
	defer v.mu.Unlock()
	was := v.proxies[i]
	v.proxies[i] = p
	return was
}

// work waits until so many more transactions are done.
func (v *versions) work(n int64) {
	until := v.done.Load() + n
	deadline := time.Now().Add(harness.AskLimit)
	for v.done.Load() < until && !v.t.Failed() {
		if time.Now().After(deadline) {
			v.t.Fatalf("%d transactions of %d\n%s", n-until+v.done.Load(), n, harness.Ask(v.t, v.direct, `
				select string_agg(concat_ws('  ', pid, application_name, state, now() - xact_start, wait_event_type, wait_event, pg_blocking_pids(pid), left(query, 200)), E'\n')
				from pg_stat_activity where datname = current_database()`))
		}
		time.Sleep(5 * time.Millisecond) // a look at a count, not a wait for time
	}
}

// client works until ctx ends, with a new connection whenever it has lost one.
func (v *versions) client(ctx context.Context, number int) {
	for sent := 0; ctx.Err() == nil; {
		route := v.route()
		mode := []pgx.QueryExecMode{pgx.QueryExecModeCacheStatement, pgx.QueryExecModeSimpleProtocol, pgx.QueryExecModeExec}[rand.IntN(3)]
		config, err := pgx.ParseConfig(route[rand.IntN(len(route))].Endpoint.DSN(v.database))
		if err != nil {
			v.fail(err)
			return
		}
		config.DefaultQueryExecMode = mode
		conn, err := pgx.ConnectConfig(ctx, config)
		for err == nil && ctx.Err() == nil {
			sent++
			begun := time.Now()
			if err = transaction(ctx, conn, fmt.Sprintf("c%d-%d", number, sent)); err == nil {
				v.done.Add(1)
				took := int64(time.Since(begun))
				for was := v.slowest.Load(); took > was && !v.slowest.CompareAndSwap(was, took); was = v.slowest.Load() {
				}
			}
		}
		if conn != nil {
			_ = conn.Close(context.WithoutCancel(ctx)) // it is broken or of no more use
		}
		switch {
		case ctx.Err() != nil:
		case connectionGone(err):
			v.lost.Add(1)
		default:
			v.fail(fmt.Errorf("client %d: %s", number, harness.Describe(err)))
			return
		}
	}
}

func (v *versions) fail(err error) {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.failures = append(v.failures, err.Error())
}

// transaction posts a message, in one of the ways that take another path through the proxy and the database, and
// receives some.
func transaction(ctx context.Context, conn *pgx.Conn, name string) error {
	posts := []string{
		"select mbus4.post('q', hstore(array['n', right($1, 1), 'iid', $1]))",
		"select mbus4.post_q(hstore(array['n', right($1, 1), 'iid', $1]), iid => $1)",
		"select case when $1 <> '' then mbus4.post('q', hstore(array['n', right($1, 1), 'iid', $1])) end",
		"select 1 where mbus4.post('q', hstore(array['n', right($1, 1), 'iid', $1]), 'h=>1') is not null",
	}
	receives := []struct{ side, from string }{
		{"q ", "mbus4.consume('q')"}, {"q ", "mbus4.consumen('q', amt => 3)"}, {"p ", "mbus4.consumen_q_by_picky(2)"}, {"r ", "mbus4.consumen('r', 'default', 3)"},
	}
	return pgx.BeginFunc(ctx, conn, func(tx pgx.Tx) error {
		if _, err := tx.Exec(ctx, posts[rand.IntN(len(posts))], name); err != nil {
			return err
		}
		if _, err := tx.Exec(ctx, "insert into sent values ($1)", name); err != nil {
			return err
		}
		r := receives[rand.IntN(len(receives))]
		_, err := tx.Exec(ctx, "insert into got select $1 || (m.data->'iid') from "+r.from+" m", r.side)
		return err
	})
}

// connectionGone reports whether an error says only that the connection, or what it led to, is gone.
func connectionGone(err error) bool {
	var pgErr *pgconn.PgError
	if errors.As(err, &pgErr) {
		return pgErr.Code == "57P01" || strings.HasPrefix(pgErr.Code, "08")
	}
	var netErr net.Error
	var opErr *net.OpError
	return errors.As(err, &netErr) || errors.As(err, &opErr) || errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) || strings.Contains(err.Error(), "conn closed")
}
