package ops

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/jackc/pgx/v5"

	"mbusproxy/integration/internal/frontend"
	"mbusproxy/integration/internal/harness"
)

// Two proxies in front of one server are as one: the schema is created once, and what is made
// through one is in force for the next statement through the other.
func TestTwoProxies(t *testing.T) {
	t.Parallel()
	second := harness.NewProxy(t)
	database := harness.NewDatabase(t)
	ends := []harness.Endpoint{harness.Proxied(), second.Endpoint}
	errs := make(chan error, 2)
	ctx := harness.Context(t)
	for i, e := range ends {
		go func() { errs <- firstCall(ctx, e.DSN(database), fmt.Sprint("q", i)) }()
	}
	for range ends {
		if err := <-errs; err != nil {
			t.Fatal(harness.Describe(err))
		}
	}
	one, two := harness.Connect(t, ends[0], database), harness.Connect(t, ends[1], database)
	for range 5 {
		harness.Want(t, one, "m", "select mbus4.post($1, 'a=>1', iid => 'm')", "q0")
		harness.Ask(t, two, "select mbus4.create_consumer('q0', 'audit')")
		harness.Want(t, one, "n", "select mbus4.post($1, 'a=>1', iid => 'n')", "q0")
		harness.Want(t, two, "m\nn", "select iid from mbus4.consumen('q0', amt => 9)")
		harness.Want(t, one, "n", "select iid from mbus4.consumen('q0', $1, 9)", "audit")
		harness.Ask(t, one, "select mbus4.drop_consumer('q0', 'audit')")
		harness.Refused(t, two, "42704", "select iid from mbus4.consumen('q0', $1, 9)", "audit")
	}
	harness.Ask(t, two, "select mbus4.drop_queue('q0')")
	harness.Refused(t, one, "42704", "select mbus4.post($1, 'a=>1', iid => 'm')", "q0")
}

// On SIGTERM an idle session ends with 57P01, a transaction may still finish, and the proxy ends
// with status 0.
func TestDrain(t *testing.T) {
	t.Parallel()
	proxy := harness.NewProxy(t)
	database := harness.NewQueueDatabase(t, "q")
	idle, busy := harness.Connect(t, proxy.Endpoint, database), harness.Connect(t, proxy.Endpoint, database)
	harness.Want(t, idle, "f", "select mbus4.peek_q()")
	harness.Want(t, busy, "m", "begin; select mbus4.post('q', 'a=>1', iid => 'm')")

	stopped := make(chan error, 1)
	go func() { stopped <- proxy.Stop() }()
	w := &frontend.Session{T: t, Frontend: idle.Frontend()}
	w.WantExchange("the idle session", "ErrorResponse 57P01 at 0", "ErrorResponse")
	harness.Want(t, busy, "m", "select iid from mbus4.peek('m')")
	harness.Ask(t, busy, "commit")
	if err := <-stopped; err != nil {
		t.Error(err)
	}
	harness.Want(t, harness.Connect(t, harness.Proxied(), database), "m", "select iid from mbus4.consume('q')")
}

// Many sessions need the schema at the same moment, in a database that has none.
func TestFirstCallsAtOnce(t *testing.T) {
	t.Parallel()
	database := harness.NewDatabase(t)
	errs := make(chan error, 8)
	ctx := harness.Context(t)
	for i := range cap(errs) {
		go func() { errs <- firstCall(ctx, harness.Proxied().DSN(database), fmt.Sprint("q", i)) }()
	}
	for range cap(errs) {
		if err := <-errs; err != nil {
			t.Error(harness.Describe(err))
		}
	}
}

func firstCall(ctx context.Context, dsn, queue string) error {
	conn, err := pgx.Connect(ctx, dsn)
	if err != nil {
		return err
	}
	_, err = conn.Exec(ctx, "select mbus4.create_queue($1, 1)", queue)
	return errors.Join(err, conn.Close(ctx))
}
