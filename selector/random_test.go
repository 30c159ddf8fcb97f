package selector

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"mbusproxy/internal/pgcluster"

	"mbusproxy/selector/input"
)

// evaluateSQL makes functions that evaluate a text for each message: the numbers 1, 0 and -1 as Condition has
// them, and -2 where a Condition raises. The plain text is first asked of all messages at once.
const evaluateSQL = `
create extension hstore;
create table message (n int primary key, id bigint, added timestamp, iid text, delayed_until timestamp, expires timestamp, received int[],
	headers hstore, properties hstore, data hstore);
create schema mbus4;
create function mbus4.payload(headers hstore, data hstore) returns jsonb language sql immutable
	as $$ select coalesce((headers operator(public.->) 'json.payload')::jsonb, public.hstore_to_jsonb(data)) $$; -- since Postgres 17 an index is made without public in the path
alter table message add payload jsonb generated always as (mbus4.payload(headers, data)) stored;
create function evaluate(condition text, failed int, errors out text[], results out int[]) language plpgsql as $$
declare i int; got int;
begin
	begin
		execute 'select array_agg(' || condition || ' order by t.n) from message t' into results;
		return;
	exception when others then
		results := '{}';
	end;
	for i in select n from message order by n loop
		begin
			execute 'select (' || condition || ') from message t where t.n = ' || i into got;
		exception when others then
			got := failed;
			errors := errors || (sqlstate || ' ' || sqlerrm);
		end;
		results := results || got;
	end loop;
end $$;
create function compare(texts text[], conditions text[]) returns table(k int, plain int[], ours int[], errors text[], ours_errors text[]) language sql as $$
	select k::int, p.results, o.results, p.errors, o.errors
	from unnest(texts, conditions) with ordinality u(x, c, k), evaluate(E'case when (' || x || E'\n) then 1 else 0 end', -1) p, evaluate(c, -2) o
	where p.results is distinct from o.results
$$;
-- whether a text fails before it sees a message
create function planning(x text) returns text language plpgsql as $$
begin
	execute E'explain select (' || x || E'\n) from message t';
	return '';
exception when others then
	return sqlstate;
end $$;`

const messages = 24

// randomRun is a run of random selectors against a server.
type randomRun struct {
	t                                 *testing.T
	conn                              *pgx.Conn
	pairs, refused, narrowed, failing int
	odd                               []bool // messages that hold something odd
}

// fill makes new random messages.
func (r *randomRun) fill(g *generator) {
	ctx := r.t.Context()
	b := &pgx.Batch{}
	b.Queue("truncate message")
	r.odd = make([]bool, messages)
	for n := range messages {
		value := func() *string {
			if g.IntN(8) == 0 {
				return nil
			}
			v := g.one(nasty...)
			if n%3 == 2 && g.IntN(3) == 0 {
				v = g.one(odd...)
				r.odd[n] = true
			}
			return &v
		}
		var stores [3]string
		for i := range stores {
			var pairs []string
			for _, k := range keys[:len(keys)-1] {
				if g.IntN(4) == 0 {
					continue
				}
				if v := value(); v == nil {
					pairs = append(pairs, k+"=>NULL")
				} else {
					pairs = append(pairs, k+"=>"+input.DoubleQuoted(*v))
				}
			}
			stores[i] = strings.Join(pairs, ",")
		}
		times := []string{"2024-02-29 12:30:00", "1999-12-31 23:59:59.5", "0001-01-01", "4714-12-01 BC", "290000-01-01", "2000-01-01"}
		if n%3 == 2 {
			times = append(times, "infinity", "-infinity")
			r.odd[n] = true
		}
		if g.IntN(3) != 0 {
			stores[0] += `,json.payload=>` + input.DoubleQuoted(g.one("{}", "[]", "null", "7", `"a"`, `{"a": 1}`, `{"a": "x", "b": {"a": [1, "x", null]}, "n": -1.50}`, `[{"a": true}, "a", 12]`, `{"b": [1, 2.5, 1e99], "a": null}`, `{"a": "größer\nb\\"}`))
			stores[0] = strings.TrimPrefix(stores[0], ",")
		}
		iid := value()
		b.Queue("insert into message values ($1, $2, $3::text::timestamp, $4, $5::text::timestamp, $6::text::timestamp, $7::text::int[], $8::text::hstore, $9::text::hstore, $10::text::hstore)",
			n, []int64{0, 1, 5, -1, 1 << 40, 9223372036854775807, -9223372036854775808}[g.IntN(7)], g.one(times...), iid, g.one(times...), g.one(times...), g.one("{}", "{1}", "{1,2,NULL}", "{{1,2},{3,4}}", "{2147483647}"), stores[0], stores[1], stores[2])
	}
	if err := r.conn.SendBatch(ctx, b).Close(); err != nil {
		r.t.Fatalf("filling messages: %v", err)
	}
}

// Where a selector may give an error and plain evaluation does not: most forms of times, and operands that Postgres
// does not look at because another is a constant.
var (
	timeCast = regexp.MustCompile(`:: ?(date|timestamp)`)
	constant = regexp.MustCompile(`\b(null|true|false)\b`)
)

// round compares many selectors for all messages.
func (r *randomRun) round(g *generator, seed uint64) {
	r.fill(g)
	var texts, conditions []string
	mixed := map[string]bool{}
	for len(texts) < 100 {
		text := g.boolean(1 + g.IntN(4))
		if g.IntN(2) == 0 {
			text = g.mixed()
			mixed[text] = true
		}
		s, err := compile(text, testEnv)
		var refusal *Error
		if errors.As(err, &refusal) {
			r.refused++
			if refusal.Offset < 0 || refusal.Offset > len(text) || refusal.Message == "" || len(refusal.Code) != 5 {
				r.t.Errorf("MBUS_RANDOM_SEED=%d: %s: a bad refusal: %#v", seed, text, refusal)
			}
			continue
		}
		texts, conditions = append(texts, text), append(conditions, s.Condition)
		if s.CanFail {
			r.failing++
		}
	}
	rows, err := r.conn.Query(r.t.Context(), "select * from compare($1, $2)", texts, conditions)
	if err != nil {
		r.t.Fatal(err)
	}
	type difference struct {
		K                  int
		Plain, Ours        []int
		Errors, OursErrors []string
	}
	found, err := pgx.CollectRows(rows, pgx.RowToStructByPos[difference])
	if err != nil {
		r.t.Fatalf("MBUS_RANDOM_SEED=%d: %v", seed, err)
	}
	r.pairs += len(texts) * messages
	for _, d := range found {
		text := texts[d.K-1]
		planning := "?"
		for n := range d.Plain {
			plain, ours := d.Plain[n], d.Ours[n]
			switch {
			case plain == ours:
				continue
			case ours == -1 && (r.odd[n] || timeCast.MatchString(text) || mixed[text] && constant.MatchString(text)):
				r.narrowed++
				continue
			case plain == -1 && ours != -2:
				// A constant part that fails does so before a message is seen.
				if planning == "?" {
					if err := r.conn.QueryRow(r.t.Context(), "select planning($1)", text).Scan(&planning); err != nil {
						r.t.Fatal(err)
					}
				}
				if planning != "" && (!strings.HasPrefix(planning, "42") || strings.Contains(text, "varchar")) {
					continue // arrays of varchar are no arrays of text for Postgres
				}
			}
			var message string
			_ = r.conn.QueryRow(r.t.Context(), "select t::text from message t where n = $1", n).Scan(&message)
			r.t.Errorf("MBUS_RANDOM_SEED=%d\n%s\nplain %d, ours %d\n%.1000s\nplain: %v\nours: %v\n%s", seed, text, plain, ours, message, first(d.Errors), first(d.OursErrors), conditions[d.K-1])
			break
		}
	}
}

func first(s []string) string { return strings.Join(s[:min(len(s), 2)], "; ") }

// TestRandomSelectors compares random selectors with plain evaluation. MBUS_RANDOM_TIME is how long to go on,
// MBUS_RANDOM_SEED the seed of the first round; each next one has the next.
func TestRandomSelectors(t *testing.T) {
	t.Parallel()
	conn := newDatabase(t, "")
	r := &randomRun{t: t, conn: conn}
	seed, until := uint64(1), time.Time{}
	if s := os.Getenv("MBUS_RANDOM_TIME"); s != "" {
		d, err := time.ParseDuration(s)
		if err != nil {
			t.Fatal(err)
		}
		until, seed = time.Now().Add(d), uint64(time.Now().UnixNano())
	}
	if s := os.Getenv("MBUS_RANDOM_SEED"); s != "" {
		n, err := strconv.ParseUint(s, 10, 64)
		if err != nil {
			t.Fatal(err)
		}
		seed = n
	}
	for round := 0; round < 4 || time.Now().Before(until); round++ {
		r.round(&generator{rand.New(rand.NewPCG(seed, 0))}, seed)
		if seed++; t.Failed() {
			break
		}
	}
	t.Logf("%d pairs, %d of the selectors can fail, %d texts refused, %d results narrower than plain", r.pairs, r.failing, r.refused, r.narrowed)
}

// server is started by the first test that asks for it: fuzzers need none.
var server struct {
	once    sync.Once
	cluster *pgcluster.Cluster
	err     error
}

func TestMain(m *testing.M) {
	code := m.Run()
	if server.cluster != nil {
		_ = server.cluster.Stop(context.Background())
	}
	os.Exit(code)
}

// newDatabase makes a database with the functions of evaluateSQL.
func newDatabase(t testing.TB, options string) *pgx.Conn {
	t.Helper()
	server.once.Do(func() { server.cluster, server.err = pgcluster.Temp(pgcluster.Config{Log: io.Discard}) })
	if server.err != nil {
		t.Fatal(server.err)
	}
	ctx := t.Context()
	name := fmt.Sprintf("d%d", rand.Uint64())
	admin, err := pgx.Connect(ctx, server.cluster.DSN("postgres"))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = admin.Close(context.Background()) }()
	if _, err := admin.Exec(ctx, "create database "+name+" "+options); err != nil {
		t.Fatal(err)
	}
	conn, err := pgx.Connect(ctx, server.cluster.DSN(name))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close(context.Background()) })
	if _, err := conn.Exec(ctx, evaluateSQL); err != nil {
		t.Fatal(err)
	}
	return conn
}
