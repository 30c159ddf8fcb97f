package calls

import (
	"os"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgconn"

	"mbusproxy/integration/internal/harness"
)

// documented is a statement of a document, with the rows that it says come.
type documented struct {
	line int
	sql  string
	rows string
}

// sqlBlocks reads the statements in a document's blocks of SQL. Behind each come lines that begin with
// "-->", one for each row; a single empty one stands for no rows, or one without anything to show.
func sqlBlocks(t *testing.T, path string) []documented {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	var out []documented
	var sql, rows []string
	inside := false
	flush := func(line int) {
		if len(rows) > 0 {
			out = append(out, documented{line, strings.Join(sql, "\n"), strings.Join(rows, "\n")})
		} else if len(sql) > 0 {
			t.Errorf("%s:%d: nothing is said of what comes", path, line)
		}
		sql, rows = nil, nil
	}
	for i, line := range strings.Split(string(text), "\n") {
		row, isRow := strings.CutPrefix(line, "-->")
		switch {
		case line == "```sql":
			inside = true
		case line == "```" && inside:
			flush(i)
			inside = false
		case !inside:
		case isRow:
			rows = append(rows, strings.TrimSpace(row))
		default:
			if len(rows) > 0 {
				flush(i)
			}
			sql = append(sql, line)
		}
	}
	return out
}

// What docs/semaphore.md says is what comes, if not at once.
func TestSemaphoreDocument(t *testing.T) {
	t.Parallel()
	conn := harness.Connect(t, harness.Proxied(), harness.NewDatabase(t))
	statements := sqlBlocks(t, "../../docs/semaphore.md")
	if len(statements) < 20 {
		t.Fatalf("only %d statements", len(statements))
	}
	for _, s := range statements {
		if got := awaitRows(t, conn, s.sql, s.rows); got != s.rows {
			t.Fatalf("docs/semaphore.md:%d: %s\n got %q\nwant %q", s.line, s.sql, got, s.rows)
		}
	}
}

// awaitRows runs a query again and again until it gives the rows, taking back what it did otherwise.
func awaitRows(t *testing.T, conn *pgconn.PgConn, sql, rows string) (got string) {
	t.Helper()
	if !strings.HasPrefix(sql, "select") {
		return harness.Ask(t, conn, sql)
	}
	begin, keep, undo := "begin", "commit", "rollback"
	if conn.TxStatus() == 'T' {
		begin, keep, undo = "savepoint await", "release await", "rollback to await"
	}
	for deadline := time.Now().Add(harness.AskLimit); ; {
		harness.Ask(t, conn, begin)
		if got = harness.Ask(t, conn, sql); got == rows || time.Now().After(deadline) {
			harness.Ask(t, conn, keep)
			return got
		}
		harness.Ask(t, conn, undo)
	}
}
