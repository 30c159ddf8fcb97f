package integration

import (
	"context"
	"fmt"
	"hash/fnv"
	"regexp"
	"strconv"
	"strings"

	"github.com/jackc/pgx/v5/pgconn"
)

// step is one statement with text arguments.
type step struct {
	sql  string
	args []any
}

func do(sql string, args ...any) step { return step{sql, args} }

// form is a way in which the wire protocol carries statements.
type form struct {
	name string
	// run sends the steps in this form and gives their rows, see query. It ends at the first error.
	run func(ctx context.Context, conn *pgconn.PgConn, steps ...step) (string, error)
}

// forms are all the ways a client can send a statement.
func forms() []form {
	return []form{
		{"simple", eachStep(runSimple)},
		{"extended", eachStep(runExtended)},
		{"prepared", eachStep(runPrepared)},
		{"pipelined", runPipelined},
	}
}

type stepRunner func(context.Context, *pgconn.PgConn, step) (string, error)

func eachStep(runStep stepRunner) func(context.Context, *pgconn.PgConn, ...step) (string, error) {
	return func(ctx context.Context, conn *pgconn.PgConn, steps ...step) (string, error) {
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
func runSimple(ctx context.Context, conn *pgconn.PgConn, s step) (string, error) {
	return query(ctx, conn, s.inlined())
}

var placeholder = regexp.MustCompile(`\$\d+`)

// inlined is the step's text with its arguments as literals.
func (s step) inlined() string {
	return placeholder.ReplaceAllStringFunc(s.sql, func(p string) string {
		n, _ := strconv.Atoi(p[1:])
		if n < 1 || n > len(s.args) {
			return p
		}
		if s.args[n-1] == nil {
			return "null"
		}
		return "'" + strings.ReplaceAll(fmt.Sprint(s.args[n-1]), "'", "''") + "'"
	})
}

// runExtended is Parse, Bind, Describe, Execute and Sync with the unnamed statement.
func runExtended(ctx context.Context, conn *pgconn.PgConn, s step) (string, error) {
	r := conn.ExecParams(ctx, s.sql, textParams(s.args), nil, nil, nil).Read()
	if r.Err != nil {
		return "", r.Err
	}
	return rowsText(r), nil
}

// runPrepared uses a named statement, prepared when the connection first sees the text.
func runPrepared(ctx context.Context, conn *pgconn.PgConn, s step) (string, error) {
	name := statementName(s.sql)
	if conn.CustomData()[name] == nil {
		if _, err := conn.Prepare(ctx, name, s.sql, nil); err != nil {
			return "", err
		}
		conn.CustomData()[name] = true
	}
	r := conn.ExecPrepared(ctx, name, textParams(s.args), nil, nil).Read()
	if r.Err != nil {
		return "", r.Err
	}
	return rowsText(r), nil
}

func statementName(sql string) string {
	h := fnv.New64a()
	h.Write([]byte(sql))
	return fmt.Sprintf("s%x", h.Sum64())
}

// runPipelined sends all the steps before it reads any reply, with one Sync at the end.
func runPipelined(ctx context.Context, conn *pgconn.PgConn, steps ...step) (text string, err error) {
	p := conn.StartPipeline(ctx)
	for _, s := range steps {
		p.SendQueryParams(s.sql, textParams(s.args), nil, nil, nil)
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
			return rowsText(results...), nil
		}
	}
}
