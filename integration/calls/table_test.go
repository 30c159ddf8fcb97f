package calls

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgtype"

	"mbusproxy/integration/internal/forms"
	"mbusproxy/integration/internal/harness"
)

// callCase is one statement with a call. Each runs in a transaction of its own that is rolled back, so
// the cases of a table do not see one another.
type callCase struct {
	sql  string
	args []any
	want string // its rows, and after them those of the table's query for effects
	code string // or the SQLSTATE of the refusal
	says string // what its message, detail or hint must hold
}

// gives is a case that succeeds.
func gives(want, sql string, args ...any) callCase {
	return callCase{sql: sql, args: args, want: want}
}

// fails is a case that is refused.
func fails(code, says, sql string, args ...any) callCase {
	return callCase{sql: sql, args: args, code: code, says: says}
}

// callTable holds the cases of one function.
type callTable struct {
	queues  []string // that exist
	setup   string   // what is committed before
	before  string   // what each case finds: statements in its transaction
	effect  string   // a query for what a case did; its rows come after " > "
	columns string   // what Describe says of the first case
	cases   []callCase
}

// run runs the table in a fresh database, through the simple protocol and with prepared statements and binary parameters; with
// MBUS_LONG also with the unnamed statement and text parameters.
func (c callTable) run(t *testing.T) {
	t.Helper()
	t.Parallel()
	database := harness.NewQueueDatabase(t, c.queues...)
	conn := harness.Connect(t, harness.Proxied(), database)
	if c.setup != "" {
		harness.Ask(t, conn, c.setup)
	}
	if c.columns != "" {
		sd, err := conn.Prepare(harness.Context(t), "", c.cases[0].sql, nil)
		if err != nil {
			t.Errorf("%s: %s", c.cases[0].sql, harness.Describe(err))
		} else if got := harness.ColumnsText(t, conn, sd.Fields); got != c.columns {
			t.Errorf("%s:\nDescribe says %s\nwant %s", c.cases[0].sql, got, c.columns)
		}
	}
	tried := []forms.Form{forms.All()[0], {Name: "binary", Run: forms.EachStep(runBinary)}}
	if harness.Long() {
		tried = append(tried, forms.All()[1])
	}
	for _, f := range tried {
		s := &forms.Session{Form: f, Conn: conn, Database: database}
		for _, one := range c.cases {
			c.check(t, s, one)
		}
	}
}

// check runs one case.
func (c callTable) check(t *testing.T, s *forms.Session, one callCase) {
	t.Helper()
	fail := func(format string, args ...any) {
		t.Helper()
		t.Errorf("%s, %s %v: %s", s.Form.Name, one.sql, one.args, fmt.Sprintf(format, args...))
	}
	harness.Ask(t, s.Conn, "begin;"+c.before)
	defer harness.Ask(t, s.Conn, "rollback")
	got, err := s.Form.Run(harness.Context(t), s.Conn, forms.Do(one.sql, one.args...))
	var report *pgconn.PgError
	switch {
	case one.code != "":
		if !errors.As(err, &report) || report.Code != one.code {
			fail("got %q, %s; want %s", got, harness.Describe(err), one.code)
			return
		}
		if all := report.Message + report.Detail + report.Hint; !strings.Contains(all, one.says) {
			fail("%s does not say %q", harness.Describe(err), one.says)
		}
		if (one.code == "42883" || one.code == "0A000") && report.Position < 1 {
			fail("%s has no position", harness.Describe(err))
		}
	case err != nil:
		fail("%s; want %q", harness.Describe(err), one.want)
	default:
		if strings.HasSuffix(c.columns, " void") {
			got = strings.ReplaceAll(got, harness.Null, "") // TestFunctionVoidIsNotNull
		}
		if c.effect != "" {
			got += " > " + harness.Ask(t, s.Conn, c.effect)
		}
		got = serial.ReplaceAllString(strings.ReplaceAll(got, s.Database, "<db>"), "<db>.<n>")
		if got != one.want {
			fail("\n got %q\nwant %q", got, one.want)
		}
	}
}

// serial is the last part of an iid that nobody chose.
var serial = regexp.MustCompile(`<db>\.\d+`)

// protocols are the two forms for tests in which it matters less how a statement came.
func protocols() []forms.Form { return []forms.Form{forms.All()[0], forms.All()[2]} }

// inBothProtocols is forms.ForEach with the simple protocol and with prepared statements only.
func inBothProtocols(t *testing.T, queues []string, test func(t *testing.T, s *forms.Session)) {
	forms.ForEachOf(t, protocols(), queues, test)
}

// runBinary uses a named statement, as the prepared form does, and gives every parameter in binary.
func runBinary(ctx context.Context, conn *pgconn.PgConn, s forms.Step) (string, error) {
	sd, err := conn.Prepare(ctx, "binary", s.SQL, nil)
	if err != nil {
		return "", err
	}
	defer func() { _ = conn.Deallocate(ctx, "binary") }() // after an error the transaction is over anyway
	if len(sd.ParamOIDs) != len(s.Args) {
		return "", fmt.Errorf("%d parameters, want %d", len(sd.ParamOIDs), len(s.Args))
	}
	values, formats := make([][]byte, len(s.Args)), make([]int16, len(s.Args))
	types := pgtype.NewMap()
	for i, oid := range sd.ParamOIDs {
		if s.Args[i] == nil {
			continue
		}
		if _, known := types.TypeForOID(oid); !known { // the only type here without a number of its own
			types.RegisterType(&pgtype.Type{Name: "hstore", OID: oid, Codec: pgtype.HstoreCodec{}})
		}
		kind, _ := types.TypeForOID(oid)
		value, err := kind.Codec.DecodeValue(types, oid, pgtype.TextFormatCode, fmt.Append([]byte{}, s.Args[i]))
		if err != nil {
			return "", fmt.Errorf("reading %v as %s: %w", s.Args[i], kind.Name, err)
		}
		if values[i], err = types.Encode(oid, pgtype.BinaryFormatCode, value, nil); err != nil {
			return "", fmt.Errorf("writing %v as %s: %w", s.Args[i], kind.Name, err)
		}
		formats[i] = pgtype.BinaryFormatCode
	}
	r := conn.ExecPrepared(ctx, "binary", values, formats, nil).Read()
	if r.Err != nil {
		return "", r.Err
	}
	return harness.RowsText(r), nil
}
