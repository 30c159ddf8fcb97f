package clients

import (
	"context"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"

	"mbusproxy/integration/internal/harness"
	"mbusproxy/integration/internal/programs"
)

// workQueueTranscript is what every client prints: an id, a claim, how many were released, the tags of
// two calls of process_queue, what the handler did and what is left; then the error of a call in a
// transaction, the tag of one more, and that the session is usable.
const workQueueTranscript = `1
1 1
1
CALL
CALL
1 0
error 2D000
CALL
usable 0
`

// workQueueClient runs a program with its arguments before host, port and database.
func workQueueClient(t *testing.T, env []string, program string, args []string, more ...string) {
	t.Helper()
	database := harness.NewQueueDatabase(t)
	harness.Ask(t, harness.Connect(t, harness.Proxied(), database), "create table done (n int)")
	args = append(args, harness.Proxied().Host, strconv.Itoa(harness.Proxied().Port), database)
	got := programs.Run(t, env, "", "", program, append(args, more...)...)
	if got.Status != 0 || got.Stdout != workQueueTranscript {
		t.Errorf("status %d\n%s%s", got.Status, harness.LineDiff(workQueueTranscript, got.Stdout), got.Stderr)
	}
}

func TestWorkQueuePsycopg2(t *testing.T) {
	t.Parallel()
	programs.NeedPython(t, "psycopg2", "python3-psycopg2")
	workQueueClient(t, nil, programs.Python, []string{"testdata/workqueue/psycopg2_client.py"})
}

func TestWorkQueuePsycopg3(t *testing.T) {
	t.Parallel()
	programs.NeedPython(t, "psycopg", "python3-psycopg")
	workQueueClient(t, nil, programs.Python, []string{"testdata/workqueue/psycopg3_client.py"})
}

func TestWorkQueueNodePostgres(t *testing.T) {
	t.Parallel()
	node, modules := nodePostgres(t)
	workQueueClient(t, []string{"NODE_PATH=" + modules}, node, []string{"testdata/workqueue/client.js"})
}

// nodePostgres returns Node.js and a folder of modules with node-postgres.
func nodePostgres(t *testing.T) (node, modules string) {
	t.Helper()
	node = programs.Find(t, "node", "Node.js (nodejs)")
	modules, err := filepath.Abs("node/node_modules")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(filepath.Join(modules, "pg")); err == nil {
		return node, modules
	}
	// TestNodePostgres, which may run now, installs into the same folder.
	own := t.TempDir()
	for _, name := range []string{"package.json", "package-lock.json"} {
		b, err := os.ReadFile(filepath.Join("node", name))
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(own, name), b, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if got := programs.Run(t, nil, "", own, programs.Find(t, "npm", "npm"), "ci", "--no-audit", "--no-fund"); got.Status != 0 {
		t.Fatalf("npm ci: status %d\n%s%s", got.Status, got.Stdout, got.Stderr)
	}
	return node, filepath.Join(own, "node_modules")
}

// JDBC: {call …} is CALL with escapeSyntaxCallMode=call; by default it is a SELECT, and refused.
func TestWorkQueueJDBC(t *testing.T) {
	t.Parallel()
	programs.NeedFile(t, jdbcDriver, "libpostgresql-jdbc-java")
	java := programs.Find(t, "java", "a JDK (default-jdk-headless)")
	args := []string{"-Xshare:auto", "-XX:TieredStopAtLevel=1", "-cp", jdbcDriver, "testdata/workqueue/WorkQueue.java"}
	for _, settings := range [][]string{
		nil,
		{"prepareThreshold=1", "binaryTransfer=true"},
		{"prepareThreshold=-1", "binaryTransferEnable=23,20"},
		{"preferQueryMode=simple"},
	} {
		t.Run(strings.Join(settings, " "), func(t *testing.T) {
			t.Parallel()
			workQueueClient(t, nil, java, args, settings...)
		})
	}
}

func TestWorkQueuePgx(t *testing.T) {
	t.Parallel()
	for _, mode := range execModes {
		t.Run(mode.String(), func(t *testing.T) {
			t.Parallel()
			database := harness.NewQueueDatabase(t)
			conn := harness.ConnectPgx(t, harness.Proxied(), database, mode)
			var said strings.Builder
			if err := pgxWorkQueue(harness.Context(t), conn, &said); err != nil {
				t.Error(harness.Describe(err))
			}
			if said.String() != workQueueTranscript {
				t.Error(harness.LineDiff(workQueueTranscript, said.String()))
			}
		})
	}
}

// pgxWorkQueue prints workQueueTranscript.
func pgxWorkQueue(ctx context.Context, conn *pgx.Conn, out *strings.Builder) error {
	if _, err := conn.Exec(ctx, "create table done (n int)"); err != nil {
		return err
	}
	row := func(sql string, args ...any) error {
		rows, err := conn.Query(ctx, sql, args...)
		if err != nil {
			return err
		}
		cells, err := pgx.CollectExactlyOneRow(rows, func(r pgx.CollectableRow) ([]string, error) {
			values, err := r.Values()
			cells := make([]string, len(values))
			for i, v := range values {
				switch v := v.(type) {
				case int64:
					cells[i] = strconv.FormatInt(v, 10)
				case int32:
					cells[i] = strconv.Itoa(int(v))
				case string:
					cells[i] = v
				}
			}
			return cells, err
		})
		out.WriteString(strings.Join(cells, " ") + "\n")
		return err
	}
	call := func(sql string, args ...any) error {
		tag, err := conn.Exec(ctx, sql, args...)
		if err == nil {
			out.WriteString(tag.String() + "\n")
		}
		return err
	}
	const toDone = "insert into done(n) values (($1->>'n')::int)"
	const process = "call mbus4.process_queue($1, $2)"
	for _, step := range []func() error{
		func() error { return row("select mbus4.add_message($1)", `{"n": 1}`) },
		func() error { return row("select id, payload->>'n' from mbus4.get_next_message($1)", 7) },
		func() error { return row("select mbus4.release_messages($1)", 7) },
		func() error { return call(process, 7, toDone) },
		func() error { return call("call mbus4.process_queue(7)") },
		func() error { return row("select n, (select count(*) from mbus4.work_queue) from done") },
		func() error {
			tx, err := conn.Begin(ctx)
			if err != nil {
				return err
			}
			_, err = tx.Exec(ctx, process, 7, toDone)
			out.WriteString("error " + harness.SQLState(err) + "\n")
			return tx.Rollback(ctx)
		},
		func() error { return call(process, 7, nil) },
		func() error { return row("select 'usable', count(*) from mbus4.work_queue") },
	} {
		if err := step(); err != nil {
			return err
		}
	}
	return nil
}

// psql shows the tag, the place of an error and the notices; \bind and \gset where it has them.
func TestWorkQueuePsql(t *testing.T) {
	t.Parallel()
	database := harness.NewQueueDatabase(t)
	harness.Ask(t, harness.Connect(t, harness.Proxied(), database), "create table done (n int)")
	wantPsql(t, database, `\set QUIET off
select mbus4.add_message('{"n": 1}') as id \gset
select :id as id;
call mbus4.process_queue(1, $$insert into done(n) values (($1->>'n')::int)$$);
table done;
begin;
call mbus4.process_queue(1);
rollback;
\set AUTOCOMMIT off
select 1 as one;
call mbus4.process_queue(1);
rollback;
\set AUTOCOMMIT on
select mbus4.process_queue(1);
call mbus4.add_message('{}');
call mbus4.process_queue(1, 'raise');
select 'usable' as session;
`, ` id
----
  1
(1 row)

CALL
 n
---
 1
(1 row)

BEGIN
ROLLBACK
 one
-----
   1
(1 row)

ROLLBACK
CALL
 session
---------
 usable
(1 row)
`, `ERROR:  invalid transaction termination
LINE 1: call mbus4.process_queue(1);
             ^
HINT:  mbus4.process_queue commits: call it outside a transaction block, as the only statement of a query.
ERROR:  invalid transaction termination
LINE 1: call mbus4.process_queue(1);
             ^
HINT:  mbus4.process_queue commits: call it outside a transaction block, as the only statement of a query.
ERROR:  mbus4.process_queue(…) is a procedure
LINE 1: select mbus4.process_queue(1);
               ^
HINT:  To call a procedure, use CALL.
ERROR:  mbus4.add_message(…) is not a procedure
LINE 1: call mbus4.add_message('{}');
             ^
HINT:  To call a function, use SELECT.
`)
	wantPsql(t, database, "", "1\nCALL", "", "-At", "-c", "select 1", "-c", `call mbus4.process_queue(1)`, "--set", "QUIET=off")
	wantPsql(t, database, "", "", `ERROR:  invalid transaction termination
LINE 1: insert into done values (9); call mbus4.process_queue(1)
                                          ^
HINT:  mbus4.process_queue commits: call it outside a transaction block, as the only statement of a query.`, "-At", "-c", "insert into done values (9); call mbus4.process_queue(1)")
	if _, major := programs.FindPsql(t); major >= 16 {
		wantPsql(t, database, `\set QUIET off
call mbus4.process_queue($1, $2) \bind 1 'select 1' \g
select 'usable';
`, "CALL\nusable", "", "-At")
	}
}
