package clients

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"mbusproxy/integration/internal/harness"
)

// execModes are pgx's five ways to run a statement.
var execModes = []pgx.QueryExecMode{
	pgx.QueryExecModeCacheStatement,
	pgx.QueryExecModeCacheDescribe,
	pgx.QueryExecModeDescribeExec,
	pgx.QueryExecModeExec,
	pgx.QueryExecModeSimpleProtocol,
}

func TestPgxQueue(t *testing.T) {
	t.Parallel()
	for _, mode := range execModes {
		t.Run(mode.String(), func(t *testing.T) {
			t.Parallel()
			var said strings.Builder
			database := harness.NewDatabase(t)
			conn := harness.ConnectPgx(t, harness.Proxied(), database, mode)
			if err := pgxQueue(harness.Context(t), conn, database, &said); err != nil {
				t.Error(harness.Describe(err))
			}
			if said.String() != queueTranscript {
				t.Error(harness.LineDiff(queueTranscript, said.String()))
			}
		})
	}
}

// pgxQueue prints queueTranscript.
func pgxQueue(ctx context.Context, conn *pgx.Conn, database string, out *strings.Builder) error {
	say := func(line string) { out.WriteString(line + "\n") }
	text := func(sql string, args ...any) (s string, err error) {
		err = conn.QueryRow(ctx, sql, args...).Scan(&s)
		return s, err
	}
	if _, err := conn.Exec(ctx, "select mbus4.create_queue($1, $2)", "orders", 4); err != nil {
		return err
	}
	say("created")
	hour := time.Now().UTC().Add(time.Hour).Truncate(time.Microsecond)
	for _, post := range []struct {
		sql  string
		args []any
	}{
		{
			"select mbus4.post($1, $2, $3, $4, $5, $6, $7)",
			[]any{"orders", "sku=>A1", "trace=>t1", "kind=>new", nil, hour, "first"},
		},
		{"select mbus4.post_orders($1, delayed_until => $2, msgiid => $3)", []any{"sku=>B2", hour, "later"}},
	} {
		iid, err := text(post.sql, post.args...)
		if err != nil {
			return err
		}
		say("posted " + iid)
	}
	generated, err := text("select mbus4.generate_new_msgiid(qname => $1)", "orders")
	if err != nil {
		return err
	}
	if !regexp.MustCompile(`^orders\.` + database + `\.\d+$`).MatchString(generated) {
		return fmt.Errorf("generated %q", generated)
	}
	if got, err := text("select mbus4.post(data => $1, qname => $2, iid => $3)", "sku=>C3", "orders", generated); err != nil || got != generated {
		return fmt.Errorf("posted %q as %q: %w", generated, got, err)
	}
	say("generated ok")

	consume := func(end func(context.Context, pgx.Tx) error) error {
		tx, err := conn.Begin(ctx)
		if err != nil {
			return err
		}
		var m message
		err = tx.QueryRow(ctx, `select id, iid, data->'sku', properties->'kind', headers->'trace', added, expires, received
			from mbus4.consume($1)`, "orders").Scan(&m.id, &m.iid, &m.sku, &m.kind, &m.trace, &m.added, &m.expires, &m.received)
		if err != nil {
			return errors.Join(err, tx.Rollback(ctx))
		}
		if m.id <= 0 || m.added == nil || m.expires == nil || !m.expires.Equal(hour) {
			return fmt.Errorf("consumed %+v", m)
		}
		say(fmt.Sprintf("consumed %s %s %s %s", m.iid, m.sku, m.kind, m.trace))
		return end(ctx, tx)
	}
	if err := consume(func(ctx context.Context, tx pgx.Tx) error { return tx.Rollback(ctx) }); err != nil {
		return err
	}
	say("rolled back")
	if err := consume(func(ctx context.Context, tx pgx.Tx) error { return tx.Commit(ctx) }); err != nil {
		return err
	}
	say("committed")
	if got, err := text("select (mbus4.consume($1)).iid", "orders"); err != nil || got != generated {
		return fmt.Errorf("consumed %q for %q: %w", got, generated, err)
	}
	say("consumed generated")
	if _, err := text("select iid from mbus4.consume($1)", "orders"); !errors.Is(err, pgx.ErrNoRows) {
		return fmt.Errorf("an empty queue: %w", err)
	}
	say("empty")
	return pgxQueueEnds(ctx, conn, say, text)
}

// message is what a test reads of a qt_model.
type message struct {
	id                    int64
	iid, sku, kind, trace string
	added, expires        *time.Time
	received              []int32
}

// pgxQueueEnds is the rest of pgxQueue.
func pgxQueueEnds(ctx context.Context, conn *pgx.Conn, say func(string), text func(string, ...any) (string, error)) error {
	var there bool
	if err := conn.QueryRow(ctx, "select mbus4.is_msg_exists($1)", "later").Scan(&there); err != nil {
		return err
	}
	say(fmt.Sprint("exists ", there))
	iid, err := text("select iid from mbus4.take($1)", "later")
	if err != nil {
		return err
	}
	say("took " + iid)
	_, err = text("select mbus4.post($1, $2)", "nowhere", "a=>1")
	say("error " + harness.SQLState(err))
	for range 2 {
		iid, err = text("select mbus4.post($1, $2, iid => $3)", "orders", "a=>1", "dup")
		if err == nil {
			say("posted " + iid)
		}
	}
	say("error " + harness.SQLState(err))
	rows, err := conn.Query(ctx, "select iid from mbus4.consumen($1, $2, $3)", "orders", "default", 100)
	if err != nil {
		return err
	}
	left, err := pgx.CollectRows(rows, pgx.RowTo[string])
	if err != nil {
		return err
	}
	say("left " + strings.Join(left, " "))
	return nil
}

// A batch is one pipeline: it succeeds or fails as one transaction.
func TestPgxBatch(t *testing.T) {
	t.Parallel()
	for _, mode := range execModes {
		t.Run(mode.String(), func(t *testing.T) {
			t.Parallel()
			database := harness.NewQueueDatabase(t, "q")
			conn := harness.ConnectPgx(t, harness.Proxied(), database, mode)
			ctx := harness.Context(t)
			if err := conn.SendBatch(ctx, batchOfPosts(50, "select 1/(1-$1::int)")).Close(); harness.SQLState(err) != "22012" {
				t.Errorf("a batch that fails: %s", harness.Describe(err))
			}
			harness.Want(t, conn.PgConn(), "f", "select mbus4.peek_q()")
			if err := conn.SendBatch(ctx, batchOfPosts(50, "select $1::int")).Close(); err != nil {
				t.Errorf("a batch: %s", harness.Describe(err))
			}
			harness.Want(t, conn.PgConn(), "50", "select count(*) from mbus4.consumen('q', amt => 100)")
			harness.Want(t, conn.PgConn(), "f", "select mbus4.peek_q()")
		})
	}
}

func batchOfPosts(n int, last string) *pgx.Batch {
	var batch pgx.Batch
	for i := range n {
		batch.Queue("select mbus4.post($1, hstore('n', $2))", "q", fmt.Sprint(i))
	}
	batch.Queue(last, 1)
	return &batch
}

// A text is prepared once and used while queues come and go.
func TestPreparedBeforeTheQueue(t *testing.T) {
	t.Parallel()
	database := harness.NewQueueDatabase(t, "other")
	conn := harness.Connect(t, harness.Proxied(), database)
	ctx := harness.Context(t)
	sd, err := conn.Prepare(ctx, "post", "select mbus4.post($1, $2, iid => $3)", nil)
	if err != nil {
		t.Fatal(harness.Describe(err))
	}
	if len(sd.ParamOIDs) != 3 || sd.ParamOIDs[0] != 25 || sd.ParamOIDs[2] != 25 {
		t.Errorf("parameter types %v: the first and the last are text (25)", sd.ParamOIDs)
	}
	post := func() error {
		return conn.ExecPrepared(ctx, "post", harness.TextParams([]any{"late", "a=>1", "x"}), nil, nil).Read().Err
	}
	for range 2 {
		if err := post(); harness.SQLState(err) != "42704" {
			t.Errorf("before the queue: %s", harness.Describe(err))
		}
		harness.Ask(t, conn, "select mbus4.create_queue('late', 1)")
		if err := post(); err != nil {
			t.Errorf("with the queue: %s", harness.Describe(err))
		}
		harness.Want(t, conn, "x", "select iid from mbus4.consume('late')")
		harness.Ask(t, conn, "select mbus4.drop_queue('late')")
	}
	if err := conn.Deallocate(ctx, "post"); err != nil {
		t.Fatal(err)
	}
	if err := post(); harness.SQLState(err) != "26000" {
		t.Errorf("after DEALLOCATE: %s", harness.Describe(err))
	}
}

// Results have the same types and values in text and binary.
func TestFormatsOfResults(t *testing.T) {
	t.Parallel()
	database := harness.NewQueueDatabase(t, "q")
	conn := harness.Connect(t, harness.Proxied(), database)
	ctx := harness.Context(t)
	sql := "select m.id > 0, iid, added is null, delayed_until, expires, received, m.data->'a', hstore_to_json(data) from mbus4.consume($1) m"
	var descriptions [][]pgconn.FieldDescription
	for _, format := range []int16{pgx.TextFormatCode, pgx.BinaryFormatCode} {
		harness.Ask(t, conn, "select mbus4.post('q', 'a=>b', expires => '2100-01-01')")
		r := conn.ExecParams(ctx, sql, harness.TextParams([]any{"q"}), nil, nil, []int16{format}).Read()
		if r.Err != nil || len(r.Rows) != 1 {
			t.Fatalf("%d rows, %s", len(r.Rows), harness.Describe(r.Err))
		}
		for i := range r.FieldDescriptions {
			if r.FieldDescriptions[i].Format != format {
				t.Errorf("column %d: format %d", i, r.FieldDescriptions[i].Format)
			}
			r.FieldDescriptions[i].Format = 0
		}
		descriptions = append(descriptions, r.FieldDescriptions)
		if got := string(r.Rows[0][6]); got != "b" {
			t.Errorf("format %d: data->'a' is %q", format, got)
		}
	}
	if !reflect.DeepEqual(descriptions[0], descriptions[1]) {
		t.Errorf("text %v\nbinary %v", descriptions[0], descriptions[1])
	}
}
