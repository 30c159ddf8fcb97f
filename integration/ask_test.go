package integration

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgconn"
)

// null stands for SQL's null in texts that tests compare.
const null = "∅"

// askLimit bounds one statement, so that a reply that never comes names the statement.
const askLimit = 30 * time.Second

// query runs sql and gives its rows as text: columns joined by |, rows by newlines. Without
// arguments it is one simple Query message, which may hold several statements; with arguments it
// is the extended protocol with the unnamed statement and text parameters (nil is null).
func query(ctx context.Context, conn *pgconn.PgConn, sql string, args ...any) (string, error) {
	var results []*pgconn.Result
	if len(args) == 0 {
		var err error
		if results, err = conn.Exec(ctx, sql).ReadAll(); err != nil {
			return "", err
		}
	} else {
		r := conn.ExecParams(ctx, sql, textParams(args), nil, nil, nil).Read()
		if r.Err != nil {
			return "", r.Err
		}
		results = []*pgconn.Result{r}
	}
	return rowsText(results...), nil
}

// textParams writes arguments as text parameters.
func textParams(args []any) [][]byte {
	params := make([][]byte, len(args))
	for i, a := range args {
		if a != nil {
			params[i] = fmt.Append([]byte{}, a) // nil would be null
		}
	}
	return params
}

// rowsText is the rows of text-format results, see query.
func rowsText(results ...*pgconn.Result) string {
	var lines []string
	for _, r := range results {
		for _, row := range r.Rows {
			cells := make([]string, len(row))
			for i, cell := range row {
				if cells[i] = string(cell); cell == nil {
					cells[i] = null
				}
			}
			lines = append(lines, strings.Join(cells, "|"))
		}
	}
	return strings.Join(lines, "\n")
}

// ask is query for statements that must succeed.
func ask(t *testing.T, conn *pgconn.PgConn, sql string, args ...any) string {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), askLimit)
	defer cancel()
	got, err := query(ctx, conn, sql, args...)
	if err != nil {
		t.Fatalf("%s %v: %v", sql, args, describe(err))
	}
	return got
}

// want is ask with the answer known.
func want(t *testing.T, conn *pgconn.PgConn, expected, sql string, args ...any) {
	t.Helper()
	if got := ask(t, conn, sql, args...); got != expected {
		t.Errorf("%s %v:\n got %q\nwant %q", sql, args, got, expected)
	}
}

// refused is query for statements that must fail with the SQLSTATE.
func refused(t *testing.T, conn *pgconn.PgConn, code, sql string, args ...any) {
	t.Helper()
	_ = refusal(t, conn, code, sql, args...)
}

// refusal is refused for tests that look at the report.
func refusal(t *testing.T, conn *pgconn.PgConn, code, sql string, args ...any) *pgconn.PgError {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), askLimit)
	defer cancel()
	got, err := query(ctx, conn, sql, args...)
	var report *pgconn.PgError
	if !errors.As(err, &report) {
		t.Errorf("%s %v: got %q, %v; want SQLSTATE %s", sql, args, got, err, code)
		return &pgconn.PgError{}
	}
	if report.Code != code {
		t.Errorf("%s %v: got %s; want SQLSTATE %s", sql, args, describe(err), code)
	}
	return report
}

// describe shows all of a server's report that a reader of a failure needs.
func describe(err error) string {
	var report *pgconn.PgError
	if !errors.As(err, &report) {
		return fmt.Sprint(err)
	}
	return fmt.Sprintf("%s %s (at %d; detail %q; hint %q; where %q)",
		report.Code, report.Message, report.Position, report.Detail, report.Hint, report.Where)
}

// await runs a query with one boolean until it is true.
func await(t *testing.T, conn *pgconn.PgConn, limit time.Duration, sql string, args ...any) {
	t.Helper()
	deadline := time.After(limit)
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	for ask(t, conn, sql, args...) != "t" {
		select {
		case <-deadline:
			t.Fatalf("not within %v: %s %v", limit, sql, args)
		case <-tick.C:
		}
	}
}

// awaitBackendGone waits until the server has finished with a session, its rollback included.
func awaitBackendGone(t *testing.T, conn *pgconn.PgConn, pid uint32) {
	t.Helper()
	await(t, conn, 20*time.Second,
		fmt.Sprintf("select not exists (select from pg_stat_activity where pid = %d)", pid))
}

// sqlState is the SQLSTATE of a server's report, or empty.
func sqlState(err error) string {
	var report *pgconn.PgError
	if errors.As(err, &report) {
		return report.Code
	}
	return ""
}
