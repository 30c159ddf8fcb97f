package proxy

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgconn"

	"mbusproxy/proxy/internal/proxytest"
)

// faultRows is how many rows the scripted session inserts.
const faultRows = 7

// faultClient runs the scripted session: startup with SCRAM, a simple query, statements for the Rewriter in
// the extended protocol, one of them with a step, COPY both ways, commit, and a query that is cancelled.
type faultClient struct {
	dsn string
	// sleep is how long the query to be cancelled takes at most; with mayMiss it is all right if it ends
	// by itself.
	sleep   float64
	mayMiss bool
	// brief leaves out that query.
	brief bool
}

// run returns whether the client was told of the commit, and the first error.
func (c faultClient) run(ctx context.Context) (committed bool, err error) {
	conn, err := pgconn.Connect(ctx, c.dsn)
	if err != nil {
		return false, err
	}
	defer func() {
		short, cancel := context.WithTimeout(context.Background(), time.Second)
		defer cancel()
		_ = conn.Close(short)
	}()
	simple := func(sql, want string) error {
		results, err := conn.Exec(ctx, sql).ReadAll()
		if err != nil {
			return err
		}
		return expectRows(sql, want, results...)
	}
	extended := func(sql, want string, args ...string) error {
		var params [][]byte
		for _, a := range args {
			params = append(params, []byte(a))
		}
		r := conn.ExecParams(ctx, sql, params, nil, nil, nil).Read()
		if r.Err != nil {
			return r.Err
		}
		return expectRows(sql, want, r)
	}
	var out strings.Builder
	steps := []func() error{
		func() error { return simple("begin; select 'begun', current_user", "begun scram_user") },
		func() error { return simple("/*mbus4*/ insert into items values (1, 'one') returning name", "one") },
		func() error {
			return extended("/*mbus4*/ insert into items values ($1, $2), (3, repeat('x', 100)) returning id", "2 3", "2", "two")
		},
		func() error { return extended(proxytest.MarkLate+" select s from generate_series(1, 3) s", "1 2 3") },
		func() error { return simple(proxytest.MarkHide+" select 'hidden'", "hidden") },
		func() error {
			_, err := conn.CopyFrom(ctx, strings.NewReader("4\tfour\n5\tfive\n6\tsix\n7\tseven\n"), "copy items from stdin")
			return err
		},
		func() error {
			_, err := conn.CopyTo(ctx, &out, "copy (select name from items where id > 3 order by id) to stdout")
			if err == nil && out.String() != "four\nfive\nsix\nseven\n" {
				err = fmt.Errorf("copy gave %q", out.String())
			}
			return err
		},
		func() error { return simple("commit", "") },
	}
	for _, step := range steps {
		if err := step(); err != nil {
			return false, err
		}
	}
	if c.brief {
		return true, nil
	}
	return true, c.cancelled(ctx, conn)
}

// cancelled runs a query and cancels it.
func (c faultClient) cancelled(ctx context.Context, conn *pgconn.PgConn) error {
	ended := make(chan error, 1)
	go func() {
		_, err := conn.Exec(ctx, fmt.Sprintf("select pg_sleep(%g)", c.sleep)).ReadAll()
		ended <- err
	}()
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for {
		_ = conn.CancelRequest(ctx) // again, for the first may come before the query
		select {
		case err := <-ended:
			var report *pgconn.PgError
			switch {
			case errors.As(err, &report) && report.Code == "57014", err == nil && c.mayMiss:
				return nil
			case err == nil:
				return errors.New("the query was not cancelled")
			}
			return err
		case <-tick.C:
		}
	}
}

// expectRows compares the cells of results.
func expectRows(sql, want string, results ...*pgconn.Result) error {
	var cells []string
	for _, r := range results {
		for _, row := range r.Rows {
			for _, cell := range row {
				cells = append(cells, string(cell))
			}
		}
	}
	if got := strings.Join(cells, " "); got != want {
		return fmt.Errorf("%s: got %q, want %q", sql, got, want)
	}
	return nil
}

// faultTable looks at the table the scripted session writes to.
func faultTable(t *testing.T, admin *pgconn.PgConn, sql string) string {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), proxytest.Patience)
	defer cancel()
	results, err := admin.Exec(ctx, sql).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	var cells []string
	for _, r := range results {
		for _, row := range r.Rows {
			cells = append(cells, string(row[0]))
		}
	}
	return strings.Join(cells, " ")
}
