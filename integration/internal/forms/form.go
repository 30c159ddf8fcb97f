package forms

import (
	"context"
	"fmt"
	"hash/fnv"
	"regexp"
	"strconv"
	"strings"

	"github.com/jackc/pgx/v5/pgconn"

	"mbusproxy/integration/internal/harness"
)

// Step is one statement with text arguments.
type Step struct {
	SQL  string
	Args []any
}

// Do makes a step.
func Do(sql string, args ...any) Step { return Step{sql, args} }

// Form is a way in which the wire protocol carries statements.
type Form struct {
	Name string
	// Run sends the steps in this form and gives their rows, see harness.Query. It ends at the first error.
	Run func(ctx context.Context, conn *pgconn.PgConn, steps ...Step) (string, error)
}

// All are all the ways a client can send a statement.
func All() []Form {
	return []Form{
		{"simple", EachStep(runSimple)},
		{"extended", EachStep(runExtended)},
		{"prepared", EachStep(runPrepared)},
		{"pipelined", RunPipelined},
	}
}

// EachStep makes the Run of a form in which statements go one after another.
func EachStep(runStep func(context.Context, *pgconn.PgConn, Step) (string, error)) func(context.Context, *pgconn.PgConn, ...Step) (string, error) {
	return func(ctx context.Context, conn *pgconn.PgConn, steps ...Step) (string, error) {
		var texts []string
		for _, s := range steps {
			text, err := runStep(ctx, conn, s)
			if err != nil {
				return "", err
			}
			if text != "" {
				texts = append(texts, text)
			}
		}
		return strings.Join(texts, "\n"), nil
	}
}

// runSimple is a Query message with the arguments written into the text.
func runSimple(ctx context.Context, conn *pgconn.PgConn, s Step) (string, error) {
	return harness.Query(ctx, conn, s.Inlined())
}

var placeholder = regexp.MustCompile(`\$\d+`)

// Inlined is the step's text with its arguments as literals.
func (s Step) Inlined() string {
	return placeholder.ReplaceAllStringFunc(s.SQL, func(p string) string {
		n, _ := strconv.Atoi(p[1:])
		if n < 1 || n > len(s.Args) {
			return p
		}
		if s.Args[n-1] == nil {
			return "null"
		}
		return "'" + strings.ReplaceAll(fmt.Sprint(s.Args[n-1]), "'", "''") + "'"
	})
}

// runExtended is Parse, Bind, Describe, Execute and Sync with the unnamed statement.
func runExtended(ctx context.Context, conn *pgconn.PgConn, s Step) (string, error) {
	r := conn.ExecParams(ctx, s.SQL, harness.TextParams(s.Args), nil, nil, nil).Read()
	if r.Err != nil {
		return "", r.Err
	}
	return harness.RowsText(r), nil
}

// runPrepared uses a named statement, prepared when the connection first sees the text.
func runPrepared(ctx context.Context, conn *pgconn.PgConn, s Step) (string, error) {
	name := statementName(s.SQL)
	if conn.CustomData()[name] == nil {
		if _, err := conn.Prepare(ctx, name, s.SQL, nil); err != nil {
			return "", err
		}
		conn.CustomData()[name] = true
	}
	r := conn.ExecPrepared(ctx, name, harness.TextParams(s.Args), nil, nil).Read()
	if r.Err != nil {
		return "", r.Err
	}
	return harness.RowsText(r), nil
}

func statementName(sql string) string {
	h := fnv.New64a()
	h.Write([]byte(sql))
	return fmt.Sprintf("s%x", h.Sum64())
}

// RunPipelined sends all the steps before it reads any reply, with one Sync at the end.
func RunPipelined(ctx context.Context, conn *pgconn.PgConn, steps ...Step) (text string, err error) {
	p := conn.StartPipeline(ctx)
	for _, s := range steps {
		p.SendQueryParams(s.SQL, harness.TextParams(s.Args), nil, nil, nil)
	}
	if err := p.Sync(); err != nil {
		return "", err
	}
	defer func() {
		if closeErr := p.Close(); err == nil {
			err = closeErr
		}
	}()
	var results []*pgconn.Result
	for {
		next, err := p.GetResults()
		if err != nil {
			return "", err
		}
		switch next := next.(type) {
		case *pgconn.ResultReader:
			r := next.Read()
			if r.Err != nil {
				return "", r.Err
			}
			results = append(results, r)
		case *pgconn.PipelineSync:
			return harness.RowsText(results...), nil
		}
	}
}
