package cli

import (
	"context"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5/pgconn"
)

// consoleTimeout is how long the console may take to log in or to answer. Without it the rest is shown.
const consoleTimeout = 3 * time.Second

// waits asks the proxy's console, which has that name, for the calls that wait in the database; nil
// where there is no console, or it is not for this role. It is asked once whether it is.
func (s *Session) waits(ctx context.Context, console, database string) *Result {
	if console == "" || s.refused {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, consoleTimeout)
	defer cancel()
	if s.console == nil {
		conn, err := openAt(ctx, s.dsn, console+"/"+database, "mbusproxy", nil)
		if err != nil {
			s.refused = true
			return nil
		}
		s.console = conn
	}
	r, err := callsThatWait(ctx, s.console.PgConn(), database)
	if err != nil {
		s.refused = true
		return nil
	}
	return r
}

// callsThatWait runs SHOW WAITING CALLS and keeps what is of the database.
func callsThatWait(ctx context.Context, conn *pgconn.PgConn, database string) (*Result, error) {
	results, err := conn.Exec(ctx, "SHOW WAITING CALLS").ReadAll()
	if err != nil || len(results) != 1 {
		return nil, fmt.Errorf("asking the console: %w", err)
	}
	r := NewResult([]string{"queue", "consumer"}, "calls", "longest_seconds")
	for _, row := range results[0].Rows {
		at := map[string]string{}
		for i, f := range results[0].FieldDescriptions {
			at[f.Name] = string(row[i])
		}
		if at["database"] == database {
			r.Append(at["queue"], at["consumer"], at["calls"], at["longest_seconds"])
		}
	}
	return r, nil
}

// waitLines shows them in lines, at most that many; 0 means as many as there are.
func waitLines(r *Result, names, most int) (lines []string) {
	if r == nil || len(r.Rows) == 0 {
		return nil
	}
	lines = append(lines, fmt.Sprintf("%-*s %8s %s", names, "CALLS WAIT FOR", "CALLS", "LONGEST"))
	for i := range r.Rows {
		if most > 0 && len(lines) == most-1 && i < len(r.Rows)-1 {
			lines = append(lines, fmt.Sprintf("… and %d more", len(r.Rows)-i))
			break
		}
		name := r.cell(i, "queue")
		switch consumer := r.cell(i, "consumer"); {
		case name == "":
			name = "(a message each)"
		case consumer != "" && consumer != "default":
			name += " by " + consumer
		}
		lines = append(lines, fmt.Sprintf("%s %8s %s", padded(cut(Visible(name), names), names), r.cell(i, "calls"), age(r.cell(i, "longest_seconds"))))
	}
	return append(lines, "")
}
