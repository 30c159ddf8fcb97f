package harness

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgconn"
)

// Null stands for SQL's null in texts that tests compare.
const Null = "∅"

// AskLimit bounds every wait for one thing, so that a reply that never comes names the statement. Nothing waits that long
// unless it fails: some statements have work for several seconds, and the machine may be twenty times as slow as it is
// alone. TestLimit is longer.
const AskLimit = 4 * time.Minute

// Query runs sql and gives its rows as text: columns joined by |, rows by newlines. Without
// arguments it is one simple Query message, which may hold several statements; with arguments it
// is the extended protocol with the unnamed statement and text parameters (nil is null).
func Query(ctx context.Context, conn *pgconn.PgConn, sql string, args ...any) (string, error) {
	var results []*pgconn.Result
	if len(args) == 0 {
		var err error
		if results, err = conn.Exec(ctx, sql).ReadAll(); err != nil {
			return "", err
		}
	} else {
		r := conn.ExecParams(ctx, sql, TextParams(args), nil, nil, nil).Read()
		if r.Err != nil {
			return "", r.Err
		}
		results = []*pgconn.Result{r}
	}
	return RowsText(results...), nil
}

// TextParams writes arguments as text parameters.
func TextParams(args []any) [][]byte {
	params := make([][]byte, len(args))
	for i, a := range args {
		if a != nil {
			params[i] = fmt.Append([]byte{}, a) // nil would be null
		}
	}
	return params
}

// RowsText is the rows of text-format results, see Query.
func RowsText(results ...*pgconn.Result) string {
	var lines []string
	for _, r := range results {
		for _, row := range r.Rows {
			cells := make([]string, len(row))
			for i, cell := range row {
				if cells[i] = string(cell); cell == nil {
					cells[i] = Null
				}
			}
			lines = append(lines, strings.Join(cells, "|"))
		}
	}
	return strings.Join(lines, "\n")
}

// Ask is Query for statements that must succeed.
func Ask(t *testing.T, conn *pgconn.PgConn, sql string, args ...any) string {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), AskLimit)
	defer cancel()
	got, err := Query(ctx, conn, sql, args...)
	if err != nil {
		t.Fatalf("%s %v: %v", sql, args, Describe(err))
	}
	return got
}

// storedFunction is a function that serves calls in place, without the hash that ends its name.
var storedFunction = regexp.MustCompile(`mbus4\.(at_[a-z_]+)\b`)

// Stored writes the whole names of the functions that serve calls in place for mbus4.at_post and
// the like. conn is a direct connection to a database that has them.
func Stored(t *testing.T, conn *pgconn.PgConn, sql string) string {
	t.Helper()
	return storedFunction.ReplaceAllStringFunc(sql, func(found string) string {
		name := storedFunction.FindStringSubmatch(found)[1]
		return "mbus4." + Ask(t, conn, "select proname from pg_proc where pronamespace = 'mbus4'::regnamespace and proname ~ ('^' || $1 || '_[0-9a-f]{8}$')", name)
	})
}

// Want is Ask with the answer known.
func Want(t *testing.T, conn *pgconn.PgConn, expected, sql string, args ...any) {
	t.Helper()
	if got := Ask(t, conn, sql, args...); got != expected {
		t.Errorf("%s %v:\n got %q\nwant %q", sql, args, got, expected)
	}
}

// Refused is Query for statements that must fail with the SQLSTATE.
func Refused(t *testing.T, conn *pgconn.PgConn, code, sql string, args ...any) {
	t.Helper()
	_ = Refusal(t, conn, code, sql, args...)
}

// Refusal is Refused for tests that look at the report.
func Refusal(t *testing.T, conn *pgconn.PgConn, code, sql string, args ...any) *pgconn.PgError {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), AskLimit)
	defer cancel()
	got, err := Query(ctx, conn, sql, args...)
	var report *pgconn.PgError
	if !errors.As(err, &report) {
		t.Errorf("%s %v: got %q, %v; want SQLSTATE %s", sql, args, got, err, code)
		return &pgconn.PgError{}
	}
	if report.Code != code {
		t.Errorf("%s %v: got %s; want SQLSTATE %s", sql, args, Describe(err), code)
	}
	return report
}

// Describe shows all of a server's report that a reader of a failure needs.
func Describe(err error) string {
	var report *pgconn.PgError
	if !errors.As(err, &report) {
		return fmt.Sprint(err)
	}
	return fmt.Sprintf("%s %s (at %d; detail %q; hint %q; where %q)",
		report.Code, report.Message, report.Position, report.Detail, report.Hint, report.Where)
}

// Eventually looks again and again until nothing is missing, which look says by "". What it says after AskLimit the test fails with.
func Eventually(t *testing.T, look func() (missing string)) {
	t.Helper()
	deadline := time.After(AskLimit)
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	for {
		missing := look()
		if missing == "" {
			return
		}
		select {
		case <-deadline:
			t.Fatalf("not within %v: %s", AskLimit, missing)
		case <-tick.C:
		}
	}
}

// Await runs a query with one boolean until it is true.
func Await(t *testing.T, conn *pgconn.PgConn, sql string, args ...any) {
	t.Helper()
	Eventually(t, func() string {
		if Ask(t, conn, sql, args...) == "t" {
			return ""
		}
		return fmt.Sprint(sql, args)
	})
}

// AwaitBackendGone waits until the server has finished with a session, its rollback included.
func AwaitBackendGone(t *testing.T, conn *pgconn.PgConn, pid uint32) {
	t.Helper()
	Await(t, conn, fmt.Sprintf("select not exists (select from pg_stat_activity where pid = %d)", pid))
}

// SQLState is the SQLSTATE of a server's report, or empty.
func SQLState(err error) string {
	var report *pgconn.PgError
	if errors.As(err, &report) {
		return report.Code
	}
	return ""
}
