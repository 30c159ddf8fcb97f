package ops

import (
	"fmt"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"

	"mbusproxy/integration/internal/collector"
	"mbusproxy/integration/internal/harness"
)

// The producer's context, as a driver would write it into its comment.
const (
	producerTrace  = "4bf92f3577b34da6a3ce929d0e0e4736"
	producerSpan   = "00f067aa0ba902b7"
	producerParent = "00-" + producerTrace + "-" + producerSpan + "-01"
)

// commented returns a statement with the comment that sqlcommenter appends.
func commented(sql, traceparent string) string {
	return sql + " /*application='shop%20front',route='%2Forders%2F',traceparent='" + traceparent + "'*/"
}

// traced starts a collector and a proxy that exports to it.
func traced(t *testing.T, flags ...string) (*collector.Collector, *harness.Proxy) {
	t.Helper()
	to := collector.New(t)
	return to, harness.NewProxy(t, append(flags, "--trace", to.URL)...)
}

// A message carries the context of the statement that has posted it, and the span of the statement
// that gets it links there: with any driver, in each protocol.
func TestTraceContext(t *testing.T) {
	t.Parallel()
	to, proxy := traced(t)
	for i, way := range []struct {
		name string
		mode pgx.QueryExecMode
		args bool
	}{
		{name: "simple, literals", mode: pgx.QueryExecModeSimpleProtocol},
		{name: "unnamed statement", mode: pgx.QueryExecModeExec, args: true},
		{name: "unnamed, described", mode: pgx.QueryExecModeDescribeExec, args: true},
	} {
		t.Run(way.name, func(t *testing.T) {
			queue := fmt.Sprintf("orders%d", i)
			database := harness.NewQueueDatabase(t, queue)
			conn := harness.ConnectPgx(t, proxy.Endpoint, database, way.mode)
			for n := range 5 { // the later ones are run by statements that the proxy prepares
				trace := fmt.Sprintf("%031x%x", i+1, n+1)
				parent := "00-" + trace + "-" + producerSpan + "-01"
				var iid, found string
				post := "select mbus4.post('" + queue + "', 'a=>1')"
				consume := "select headers->'traceparent' from mbus4.consume('" + queue + "', 'default')"
				args, cargs := []any{}, []any{}
				if way.args {
					post, args = "select mbus4.post($1, 'a=>1')", []any{queue}
					consume, cargs = "select headers->'traceparent' from mbus4.consume($1, $2)", []any{queue, "default"}
				}
				if err := conn.QueryRow(t.Context(), commented(post, parent), args...).Scan(&iid); err != nil {
					t.Fatal(err)
				}
				send := to.Await(t, "send in "+trace, func(s collector.Span) bool { return s.TraceID == trace && s.Kind == "PRODUCER" })
				if send.Name != "send "+queue || send.ParentID != producerSpan || send.Attributes["messaging.message.id"] != iid {
					t.Errorf("%+v, want the parent %s and the message %s", send, producerSpan, iid)
				}
				if err := conn.QueryRow(t.Context(), consume, cargs...).Scan(&found); err != nil {
					t.Fatal(err)
				}
				if want := "00-" + trace + "-" + send.SpanID + "-01"; found != want {
					t.Errorf("the message has %s, want %s", found, want)
				}
				receive := to.Await(t, "receive", func(s collector.Span) bool {
					return strings.Join(s.Links, " ") == trace+"-"+send.SpanID
				})
				if receive.Name != "receive "+queue || receive.Kind != "CONSUMER" || receive.Attributes["messaging.consumer.group.name"] != "default" {
					t.Errorf("%+v", receive)
				}
			}
		})
	}
}

// What the caller says about the context itself is kept.
func TestTraceOwnHeader(t *testing.T) {
	t.Parallel()
	_, proxy := traced(t)
	database := harness.NewQueueDatabase(t, "q")
	conn := harness.Connect(t, proxy.Endpoint, database)
	extended := harness.ConnectPgx(t, proxy.Endpoint, database, pgx.QueryExecModeExec)
	const own = "00-11111111111111111111111111111111-2222222222222222-01"
	for _, c := range []struct{ post, want string }{
		{"select mbus4.post('q', 'a=>1', headers => 'traceparent=>" + own + ",b=>2')", own + "|2|"},
		{"select mbus4.post('q', payload => '{}', headers => 'traceparent=>" + own + "')", own + "||{}"},
		{"select mbus4.post('q', '', headers => 'b=>2', iid => 'k')", producerTrace + "|2|"},
		{"select mbus4.post('q', payload => '{\"a\": 1}')", producerTrace + "||{\"a\": 1}"},
		{"select mbus4.post('q', '', unique_key => 'k', unique_for => '1 hour')", producerTrace + "||"},
		{"select mbus4.post(q, '') from (values ('q')) v(q)", producerTrace + "||"},
		{"select 1 where mbus4.post('q', '', headers => 'b=>3') is not null", producerTrace + "|3|"},
		{"select 1 where mbus4.post('q', '', headers => 'traceparent=>" + own + "') is not null", own + "||"},
		{"select 1 where mbus4.post_q('') is not null", producerTrace + "||"},
	} {
		got := ""
		for n := range 4 {
			sql := commented(strings.ReplaceAll(c.post, "'k'", fmt.Sprintf("'k%d'", n)), producerParent)
			if n == 0 {
				harness.Ask(t, conn, sql)
			} else if _, err := extended.Exec(t.Context(), sql); err != nil { // by a statement that is prepared once
				t.Errorf("%s: %v", sql, err)
			}
			got = harness.Ask(t, conn, "select coalesce(headers->'traceparent', '') || '|' || coalesce(headers->'b', '') || '|' || coalesce(headers->'json.payload', '') from mbus4.consume('q')")
			if want, _, _ := strings.Cut(c.want, "|"); !strings.Contains(got, want) || !strings.HasSuffix(strings.TrimSpace(got), c.want[len(want):]) {
				t.Errorf("%s: the message has %s, want %s", c.post, got, c.want)
			}
		}
	}
}

// Ten thousand texts that differ in their comments only are one to the caches, and the server is given one statement.
func TestTraceCaches(t *testing.T) {
	t.Parallel()
	for _, flags := range [][]string{nil, {"--trace", "http://127.0.0.1:9"}} {
		proxy, address := proxyWithHTTP(t, flags...)
		database := harness.NewQueueDatabase(t, "q")
		conn := harness.Connect(t, proxy.Endpoint, database)
		harness.Ask(t, conn, commented("select mbus4.post('q', 'a=>1')", producerParent))
		before := scrape(t, address)
		const texts = 10_000
		for from := 0; from < texts; from += 500 {
			var batch strings.Builder
			for i := from; i < from+500; i++ {
				fmt.Fprintf(&batch, "%s;\n", commented("select mbus4.is_msg_exists('x')", fmt.Sprintf("00-%032x-%016x-01", i+1, i+1)))
			}
			for _, sql := range strings.SplitAfter(strings.TrimSuffix(batch.String(), "\n"), "\n") {
				if _, err := conn.Exec(t.Context(), sql).ReadAll(); err != nil {
					t.Fatal(err)
				}
			}
		}
		after := scrape(t, address)
		misses, hits := 0.0, 0.0
		for name, v := range after {
			if strings.Contains(name, "cache") || strings.Contains(name, "rewrite") {
				t.Log(flags, name, before[name], v)
			}
			switch {
			case strings.Contains(name, "miss"):
				misses += v - before[name]
			case strings.Contains(name, "hit"):
				hits += v - before[name]
			}
		}
		if misses > 1 || hits < texts-1 {
			t.Errorf("%v: %v texts were not known, %v were", flags, misses, hits)
		}
	}
}
