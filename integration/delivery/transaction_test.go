package delivery

import (
	"fmt"
	"testing"

	"github.com/jackc/pgx/v5/pgconn"

	"mbusproxy/integration/internal/forms"
	"mbusproxy/integration/internal/harness"
)

// ending is how a client's transaction comes to its end.
type ending struct {
	name string
	// savepoint: a second call is made behind a savepoint and rolled back to it.
	savepoint bool
	finish    func(*transaction)
	committed bool
}

// transaction is one case of the matrix: a client in a transaction that has made its calls.
type transaction struct {
	*testing.T
	form   forms.Form
	client *pgconn.PgConn // through the proxy, in the transaction
	server *pgconn.PgConn // direct, to look at the server and to terminate backends
}

func endings() []ending {
	return []ending{
		{name: "commit", finish: (*transaction).commit, committed: true},
		{name: "rollback", finish: (*transaction).rollback},
		{name: "savepoint rollback", savepoint: true, finish: (*transaction).commit, committed: true},
		{name: "failed transaction", finish: (*transaction).fail},
		{name: "client killed", finish: (*transaction).killClient},
		{name: "backend terminated", finish: (*transaction).terminateBackend},
	}
}

// TestTransactionMatrix crosses the protocol's forms with the ends of a transaction, for posting
// and for consuming: nothing lost, nothing twice, nothing visible early.
func TestTransactionMatrix(t *testing.T) {
	t.Parallel()
	database := harness.NewDatabase(t)
	number := 0
	for _, f := range forms.All() {
		for _, e := range endings() {
			number++
			posts, consumes := fmt.Sprintf("p%d", number), fmt.Sprintf("c%d", number)
			t.Run(f.Name+"/"+e.name+"/post", func(t *testing.T) {
				t.Parallel()
				testPostEnding(t, database, posts, f, e)
			})
			t.Run(f.Name+"/"+e.name+"/consume", func(t *testing.T) {
				t.Parallel()
				testConsumeEnding(t, database, consumes, f, e)
			})
		}
	}
}

func testPostEnding(t *testing.T, database, queue string, f forms.Form, e ending) {
	observer := harness.Connect(t, harness.Proxied(), database)
	harness.Ask(t, observer, fmt.Sprintf("select mbus4.create_queue('%s', 1)", queue))
	tx := &transaction{t, f, harness.Connect(t, harness.Proxied(), database), harness.Connect(t, harness.Direct(), database)}

	post := func(iid string) forms.Step {
		return forms.Do("select mbus4.post($1, $2, iid => $3)", queue, "k=>v", iid)
	}
	a, b, c, lost := queue+"a", queue+"b", queue+"c", queue+"lost"
	expected := a + "\n" + b
	tx.run(expected, forms.Do("begin"), post(a), post(b))
	if e.savepoint {
		tx.run(lost, forms.Do("savepoint s"), post(lost))
		tx.run(c, forms.Do("rollback to savepoint s"), post(c))
		expected += "\n" + c
	}
	harness.Want(t, observer, "0", "select count(*) from mbus4.consume($1)", queue)
	harness.Want(t, observer, "f", "select mbus4.is_msg_exists($1)", a)

	e.finish(tx)
	if !e.committed {
		expected = ""
	}
	wantDrained(t, observer, queue, expected)
}

func testConsumeEnding(t *testing.T, database, queue string, f forms.Form, e ending) {
	observer := harness.Connect(t, harness.Proxied(), database)
	harness.Ask(t, observer, fmt.Sprintf("select mbus4.create_queue('%s', 1)", queue))
	for _, iid := range []string{"a", "b", "c"} {
		harness.Ask(t, observer, "select mbus4.post($1, 'k=>v', iid => $2)", queue, queue+iid)
	}
	tx := &transaction{t, f, harness.Connect(t, harness.Proxied(), database), harness.Connect(t, harness.Direct(), database)}

	consume := forms.Do("select iid from mbus4.consume($1)", queue)
	a, b, c := queue+"a", queue+"b", queue+"c"
	tx.run(a, forms.Do("begin"), consume)
	if e.savepoint {
		tx.run(b, forms.Do("savepoint s"), consume)
		tx.run("", forms.Do("rollback to savepoint s"))
	}
	// What is held is hidden from others; what a savepoint gave back is not.
	harness.Want(t, observer, b+"\n"+c,
		fmt.Sprintf("begin; select iid from mbus4.consumen('%s', 'default', 9) order by iid; rollback", queue))

	e.finish(tx)
	expected := b + "\n" + c
	if !e.committed {
		expected = a + "\n" + expected
	}
	wantDrained(t, observer, queue, expected)
}

// wantDrained takes all there is, twice, so that a message that comes twice shows.
func wantDrained(t *testing.T, conn *pgconn.PgConn, queue, expected string) {
	t.Helper()
	harness.Want(t, conn, expected, "select iid from mbus4.consumen($1, 'default', 100) order by iid", queue)
	harness.Want(t, conn, "", "select iid from mbus4.consumen($1, 'default', 100)", queue)
}

// run sends the steps in the case's form and compares their rows.
func (tx *transaction) run(expected string, steps ...forms.Step) {
	tx.Helper()
	got, err := tx.form.Run(harness.Context(tx.T), tx.client, steps...)
	if err != nil {
		tx.Fatalf("%v: %s", steps, harness.Describe(err))
	}
	if got != expected {
		tx.Fatalf("%v:\n got %q\nwant %q", steps, got, expected)
	}
}

func (tx *transaction) commit() {
	tx.Helper()
	tx.run("", forms.Do("commit"))
}

func (tx *transaction) rollback() {
	tx.Helper()
	tx.run("", forms.Do("rollback"))
}

// fail makes the transaction fail and commits it, which Postgres answers with a rollback.
func (tx *transaction) fail() {
	tx.Helper()
	if _, err := tx.form.Run(harness.Context(tx.T), tx.client, forms.Do("select 1/0")); harness.SQLState(err) != "22012" {
		tx.Fatalf("select 1/0: %s", harness.Describe(err))
	}
	if status := tx.client.TxStatus(); status != 'E' {
		tx.Errorf("transaction status after an error: %q, want 'E'", status)
	}
	tx.run("", forms.Do("commit"))
	if status := tx.client.TxStatus(); status != 'I' {
		tx.Errorf("transaction status after commit: %q, want 'I'", status)
	}
}

// killClient breaks the TCP connection as a crash of the client's machine would: with a reset.
func (tx *transaction) killClient() {
	tx.Helper()
	pid := tx.client.PID()
	if err := harness.Abort(tx.client); err != nil {
		tx.Fatal(err)
	}
	harness.AwaitBackendGone(tx.T, tx.server, pid)
}

// terminateBackend ends the server's side of the session; the client hears of it.
func (tx *transaction) terminateBackend() {
	tx.Helper()
	pid := tx.client.PID()
	harness.Want(tx.T, tx.server, "t", fmt.Sprintf("select pg_terminate_backend(%d)", pid))
	harness.AwaitBackendGone(tx.T, tx.server, pid)
	if got, err := tx.form.Run(harness.Context(tx.T), tx.client, forms.Do("select 1")); err == nil {
		tx.Errorf("the session survived its backend: %q", got)
	}
}
