package ops

import (
	"bytes"
	"fmt"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"mbusproxy/integration/internal/collector"
	"mbusproxy/integration/internal/harness"
)

// What a span says of a call, and what it never says.
func TestTraceSpans(t *testing.T) {
	t.Parallel()
	to, proxy := traced(t)
	database := harness.NewQueueDatabase(t, "q", "many")
	conn := harness.Connect(t, proxy.Endpoint, database)
	const secret = "PayloadThatNobodySees"
	ask := func(sql string) { harness.Ask(t, conn, sql) }
	ask("select mbus4.post('Q', 'a=>" + secret + "', headers => 'b=>" + secret + "')")
	ask("select * from mbus4.consume_q_by_default()")
	ask("select mbus4.post('many', 'n=>' || n) from generate_series(1, 5) n")
	ask("select * from mbus4.consumen('many', amt => 10)")
	ask("select * from mbus4.consumen('many', 'default', 10)")
	ask("select mbus4.create_queue('another', 1)")
	ask("select lease from mbus4.lease('many') where mbus4.ack(lease) -- none is there")
	harness.Refused(t, conn, "42704", "select mbus4.post('nowhere', '')")
	harness.Refused(t, conn, "42883", "select mbus4.post(), 1")

	wanted := func(name string, attributes ...string) collector.Span {
		t.Helper()
		return to.Await(t, name+fmt.Sprint(attributes), func(s collector.Span) bool {
			for i := 0; i < len(attributes); i += 2 {
				if s.Attributes[attributes[i]] != attributes[i+1] {
					return false
				}
			}
			return s.Name == name
		})
	}
	const count, group, operation = "messaging.batch.message_count", "messaging.consumer.group.name", "messaging.operation.type"
	sent := wanted("send q", operation, "send", "messaging.destination.name", "q", "messaging.system", "mbus4", "db.namespace", database)
	if sent.Kind != "CLIENT" || sent.ParentID != "" || !strings.HasPrefix(sent.Attributes["messaging.message.id"], "q."+database+".") || sent.Failed {
		t.Errorf("a post without a context is %+v", sent)
	}
	if sent.Service != "mbusproxy" || sent.End.Before(sent.Start) {
		t.Errorf("%+v", sent)
	}
	wanted("receive q", count, "1", group, "default", operation, "receive")
	wanted("receive many", count, "5", group, "default")
	wanted("receive many", count, "0")
	wanted("create_queue another")
	wanted("ack", operation, "settle")
	failed := wanted("send nowhere", "db.response.status_code", "42704", "error.type", "42704")
	if !failed.Failed {
		t.Errorf("a call that fails is %+v", failed)
	}
	if raw := to.Raw(); bytes.Contains(raw, []byte(secret)) || bytes.Contains(raw, []byte("select")) {
		t.Error("a span has the text of a statement or of a message in it")
	}
}

// A comment of a statement that is prepared under a name is as old as the statement: its runs are
// traces of their own, which link there, and the messages get no context from it.
func TestTraceNamed(t *testing.T) {
	t.Parallel()
	to, proxy := traced(t)
	database := harness.NewQueueDatabase(t, "q")
	conn := harness.ConnectPgx(t, proxy.Endpoint, database, pgx.QueryExecModeCacheStatement)
	for range 2 {
		if _, err := conn.Exec(t.Context(), commented("select mbus4.post($1, 'a=>1')", producerParent), "q"); err != nil {
			t.Fatal(err)
		}
	}
	seen := map[string]bool{}
	for range 2 {
		s := to.Await(t, "send", func(s collector.Span) bool { return s.Name == "send q" && !seen[s.SpanID] })
		seen[s.SpanID] = true
		if s.ParentID != "" || s.TraceID == producerTrace || strings.Join(s.Links, " ") != producerTrace+"-"+producerSpan {
			t.Errorf("%+v", s)
		}
	}
	direct := harness.Connect(t, proxy.Endpoint, database)
	harness.Want(t, direct, "f\nf", "select coalesce(headers, '') ? 'traceparent' as has from mbus4.consumen('q', amt => 5)")
}

// A call that waits is as long as it has waited.
func TestTraceWaits(t *testing.T) {
	t.Parallel()
	to, proxy := traced(t)
	database := harness.NewQueueDatabase(t, "simple", "extended")
	conn := harness.Connect(t, proxy.Endpoint, database)
	const wait = "500ms"
	harness.Ask(t, conn, "select * from mbus4.consume('simple', wait => '"+wait+"')")
	if r := conn.ExecParams(t.Context(), "select * from mbus4.consume($1, wait => '"+wait+"')", [][]byte{[]byte("extended")}, nil, nil, nil).Read(); r.Err != nil {
		t.Fatal(r.Err)
	}
	for _, queue := range []string{"simple", "extended"} {
		if s := to.Named(t, "receive "+queue); s.End.Sub(s.Start) < 500*time.Millisecond || s.Attributes["messaging.batch.message_count"] != "0" {
			t.Errorf("%v: %+v", s.End.Sub(s.Start), s)
		}
	}
}

// A context that is not sampled is passed on as it is, and gives no span.
func TestTraceUnsampled(t *testing.T) {
	t.Parallel()
	to, proxy := traced(t)
	database := harness.NewQueueDatabase(t, "q")
	conn := harness.Connect(t, proxy.Endpoint, database)
	unsampled := strings.TrimSuffix(producerParent, "01") + "00"
	harness.Ask(t, conn, commented("select mbus4.post('q', '')", unsampled))
	harness.Want(t, conn, unsampled, "select headers->'traceparent' as p from mbus4.consume('q')")
	to.Named(t, "receive q")
	for _, s := range to.Spans() {
		if s.TraceID == producerTrace {
			t.Errorf("%+v", s)
		}
	}
}

// Names of queues are whatever a client writes.
func TestTraceHostile(t *testing.T) {
	t.Parallel()
	to, proxy := traced(t)
	conn := harness.Connect(t, proxy.Endpoint, harness.NewQueueDatabase(t, "q"))
	for i, queue := range []string{strings.Repeat("x", 100_000), "\"';--\n", "é\x01 queue"} {
		harness.Ask(t, conn, "select 1")
		if _, err := conn.Exec(t.Context(), "select mbus4.post('"+strings.ReplaceAll(queue, "'", "''")+"', '')").ReadAll(); err == nil {
			t.Errorf("%d: posted", i)
		}
		if _, err := conn.Exec(t.Context(), "select mbus4.post('q', '') /*traceparent='00-"+strings.Repeat("%27", i+1)+"'*/").ReadAll(); err != nil {
			t.Error(err)
		}
	}
	to.Await(t, "of a name with quotes", func(s collector.Span) bool { return s.Attributes["messaging.destination.name"] == "\"';--\n" })
	for _, s := range to.Spans() {
		if len(s.Name) > 300 {
			t.Errorf("a name of %d bytes", len(s.Name))
		}
	}
}

// What is not ours passes with its comment; what is has it, too, behind all else. Without --trace a
// message gets nothing.
func TestTraceComment(t *testing.T) {
	t.Parallel()
	_, proxy := traced(t)
	database := harness.NewQueueDatabase(t, "q")
	for _, e := range []harness.Endpoint{proxy.Endpoint, harness.Proxied()} {
		conn := harness.Connect(t, e, database)
		sql := commented("select pg_catalog.current_query() as q", producerParent)
		harness.Want(t, conn, sql, sql)
		sql = commented("select mbus4.is_msg_exists('x'), pg_catalog.current_query() as q", producerParent)
		if got := harness.Ask(t, conn, sql); !strings.Contains(got, producerParent) || strings.Count(got, "traceparent") != 1 {
			t.Errorf("%s: the server gets %s", e.Name, got)
		}
	}
	conn := harness.Connect(t, harness.Proxied(), database)
	harness.Ask(t, conn, commented("select mbus4.post('q', '')", producerParent))
	harness.Want(t, conn, "∅", "select headers->'traceparent' as p from mbus4.consume('q')")
}

// Errors point where they would without a comment.
func TestTraceErrorPlaces(t *testing.T) {
	t.Parallel()
	_, proxy := traced(t)
	database := harness.NewQueueDatabase(t, "q")
	plain, with := harness.Connect(t, harness.Proxied(), database), harness.Connect(t, proxy.Endpoint, database)
	extendedPlain := harness.ConnectPgx(t, harness.Proxied(), database, pgx.QueryExecModeExec)
	extended := harness.ConnectPgx(t, proxy.Endpoint, database, pgx.QueryExecModeExec)
	for _, sql := range []string{
		"select mbus4.post('q', 'a=>')", "select mbus4.post('nowhere', '')", "select mbus4.post('q', '', delayed_until => 'never')",
		"select mbus4.post('q', ''), nosuch", "select * from mbus4.consume('q') where nosuch", "select mbus4.post('q', '', expires => '1'::int)",
	} {
		for n := range 3 {
			traced := commented(sql, fmt.Sprintf("00-%032x-%016x-01", n+1, n+1))
			_, want := plain.Exec(t.Context(), sql).ReadAll()
			if _, got := with.Exec(t.Context(), traced).ReadAll(); harness.Describe(got) != harness.Describe(want) {
				t.Errorf("%s: got %s, want %s", sql, harness.Describe(got), harness.Describe(want))
			}
			_, want = extendedPlain.Exec(t.Context(), sql)
			if _, got := extended.Exec(t.Context(), traced); harness.Describe(got) != harness.Describe(want) {
				t.Errorf("extended: %s: got %s, want %s", sql, harness.Describe(got), harness.Describe(want))
			}
		}
	}
	// A Bind with another number of values fails as the client's own statement would.
	for n := range 3 {
		sql := commented("select mbus4.post($1, '')", fmt.Sprintf("00-%032x-%016x-01", n+1, n+1))
		for _, values := range [][][]byte{{[]byte("q")}, {[]byte("q"), []byte("more")}, {}} {
			err := with.ExecParams(t.Context(), sql, values, nil, nil, nil).Read().Err
			if (err == nil) != (len(values) == 1) || err != nil && harness.SQLState(err) != "08P01" {
				t.Errorf("%d values: %v", len(values), err)
			}
			if err != nil && (strings.Contains(err.Error(), "requires 2") || strings.Contains(err.Error(), "_mbus4_")) {
				t.Errorf("the client sees a parameter or a statement of ours: %v", err)
			}
		}
	}
}

// psql writes the comment as any other.
func TestTracePsql(t *testing.T) {
	t.Parallel()
	to, proxy := traced(t)
	database := harness.NewQueueDatabase(t, "q")
	cmd := exec.CommandContext(harness.Context(t), "psql", "-X", "-At", proxy.Endpoint.DSN(database),
		"-c", commented("select mbus4.post('q', '')", producerParent)+";", "-c", "select headers from mbus4.consume('q')")
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	send := to.Await(t, "send q", func(s collector.Span) bool { return s.TraceID == producerTrace })
	if !strings.Contains(string(out), send.SpanID) {
		t.Errorf("got %s, want the span %s", out, send.SpanID)
	}
	to.Await(t, "receive", func(s collector.Span) bool { return s.Name == "receive q" && len(s.Links) == 1 })
}
