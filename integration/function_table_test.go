package integration

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgtype"
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

// run runs the table in a fresh database, through the simple and the extended protocol, with text and
// with binary parameters.
func (c callTable) run(t *testing.T) {
	t.Helper()
	t.Parallel()
	database := newQueueDatabase(t, c.queues...)
	conn := connect(t, proxied(), database)
	if c.setup != "" {
		ask(t, conn, c.setup)
	}
	if c.columns != "" {
		sd, err := conn.Prepare(testContext(t), "", c.cases[0].sql, nil)
		if err != nil {
			t.Errorf("%s: %s", c.cases[0].sql, describe(err))
		} else if got := columnsText(t, conn, sd.Fields); got != c.columns {
			t.Errorf("%s:\nDescribe says %s\nwant %s", c.cases[0].sql, got, c.columns)
		}
	}
	for _, f := range []form{forms()[0], forms()[1], {"binary", eachStep(runBinary)}} {
		s := &session{f, conn, database}
		for _, one := range c.cases {
			c.check(t, s, one)
		}
	}
}

// check runs one case.
func (c callTable) check(t *testing.T, s *session, one callCase) {
	t.Helper()
	fail := func(format string, args ...any) {
		t.Helper()
		t.Errorf("%s, %s %v: %s", s.form.name, one.sql, one.args, fmt.Sprintf(format, args...))
	}
	ask(t, s.conn, "begin;"+c.before)
	defer ask(t, s.conn, "rollback")
	got, err := s.form.run(testContext(t), s.conn, do(one.sql, one.args...))
	var report *pgconn.PgError
	switch {
	case one.code != "":
		if !errors.As(err, &report) || report.Code != one.code {
			fail("got %q, %s; want %s", got, describe(err), one.code)
			return
		}
		if all := report.Message + report.Detail + report.Hint; !strings.Contains(all, one.says) {
			fail("%s does not say %q", describe(err), one.says)
		}
		if (one.code == "42883" || one.code == "0A000") && report.Position < 1 {
			fail("%s has no position", describe(err))
		}
	case err != nil:
		fail("%s; want %q", describe(err), one.want)
	default:
		if strings.HasSuffix(c.columns, " void") {
			got = strings.ReplaceAll(got, null, "") // TestFunctionVoidIsNotNull
		}
		if c.effect != "" {
			got += " > " + ask(t, s.conn, c.effect)
		}
		got = serial.ReplaceAllString(strings.ReplaceAll(got, s.database, "<db>"), "<db>.<n>")
		if got != one.want {
			fail("\n got %q\nwant %q", got, one.want)
		}
	}
}

// serial is the last part of an iid that nobody chose.
var serial = regexp.MustCompile(`<db>\.\d+`)

// protocols are the two forms for tests in which it matters less how a statement came.
func protocols() []form { return []form{forms()[0], forms()[2]} }

// inBothProtocols is forEachForm with the simple protocol and with prepared statements only.
func inBothProtocols(t *testing.T, queues []string, test func(t *testing.T, s *session)) {
	forEachOf(t, protocols(), queues, test)
}

// runBinary uses a named statement, as runPrepared does, and gives every parameter in binary.
func runBinary(ctx context.Context, conn *pgconn.PgConn, s step) (string, error) {
	sd, err := conn.Prepare(ctx, "binary", s.sql, nil)
	if err != nil {
		return "", err
	}
	defer func() { _ = conn.Deallocate(ctx, "binary") }() // after an error the transaction is over anyway
	if len(sd.ParamOIDs) != len(s.args) {
		return "", fmt.Errorf("%d parameters, want %d", len(sd.ParamOIDs), len(s.args))
	}
	values, formats := make([][]byte, len(s.args)), make([]int16, len(s.args))
	types := pgtype.NewMap()
	for i, oid := range sd.ParamOIDs {
		if s.args[i] == nil {
			continue
		}
		if _, known := types.TypeForOID(oid); !known { // the only type here without a number of its own
			types.RegisterType(&pgtype.Type{Name: "hstore", OID: oid, Codec: pgtype.HstoreCodec{}})
		}
		kind, _ := types.TypeForOID(oid)
		value, err := kind.Codec.DecodeValue(types, oid, pgtype.TextFormatCode, fmt.Append([]byte{}, s.args[i]))
		if err != nil {
			return "", fmt.Errorf("reading %v as %s: %w", s.args[i], kind.Name, err)
		}
		if values[i], err = types.Encode(oid, pgtype.BinaryFormatCode, value, nil); err != nil {
			return "", fmt.Errorf("writing %v as %s: %w", s.args[i], kind.Name, err)
		}
		formats[i] = pgtype.BinaryFormatCode
	}
	r := conn.ExecPrepared(ctx, "binary", values, formats, nil).Read()
	if r.Err != nil {
		return "", r.Err
	}
	return rowsText(r), nil
}
