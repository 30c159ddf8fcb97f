package integration

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/jackc/pgx/v5"
)

// Two proxies in front of one server are as one: the schema is created once, and what is made
// through one is in force for the next statement through the other.
func TestTwoProxies(t *testing.T) {
	t.Parallel()
	second := newProxy(t)
	database := newDatabase(t)
	ends := []endpoint{proxied(), second.endpoint}
	errs := make(chan error, 2)
	ctx := testContext(t)
	for i, e := range ends {
		go func() { errs <- firstCall(ctx, e.dsn(database), fmt.Sprint("q", i)) }()
	}
	for range ends {
		if err := <-errs; err != nil {
			t.Fatal(describe(err))
		}
	}
	one, two := connect(t, ends[0], database), connect(t, ends[1], database)
	for range 5 {
		want(t, one, "m", "select mbus4.post($1, 'a=>1', iid => 'm')", "q0")
		ask(t, two, "select mbus4.create_consumer('q0', 'audit')")
		want(t, one, "n", "select mbus4.post($1, 'a=>1', iid => 'n')", "q0")
		want(t, two, "m\nn", "select iid from mbus4.consumen('q0', amt => 9)")
		want(t, one, "n", "select iid from mbus4.consumen('q0', $1, 9)", "audit")
		ask(t, one, "select mbus4.drop_consumer('q0', 'audit')")
		refused(t, two, "42704", "select iid from mbus4.consumen('q0', $1, 9)", "audit")
	}
	ask(t, two, "select mbus4.drop_queue('q0')")
	refused(t, one, "42704", "select mbus4.post($1, 'a=>1', iid => 'm')", "q0")
}

// On SIGTERM an idle session ends with 57P01, a transaction may still finish, and the proxy ends
// with status 0.
func TestDrain(t *testing.T) {
	t.Parallel()
	proxy := newProxy(t)
	database := newQueueDatabase(t, "q")
	idle, busy := connect(t, proxy.endpoint, database), connect(t, proxy.endpoint, database)
	want(t, idle, "f", "select mbus4.peek_q()")
	want(t, busy, "m", "begin; select mbus4.post('q', 'a=>1', iid => 'm')")

	stopped := make(chan error, 1)
	go func() { stopped <- proxy.stop() }()
	w := &wire{T: t, frontend: idle.Frontend()}
	w.wantExchange("the idle session", "ErrorResponse 57P01 at 0", "ErrorResponse")
	want(t, busy, "m", "select iid from mbus4.peek('m')")
	ask(t, busy, "commit")
	if err := <-stopped; err != nil {
		t.Error(err)
	}
	want(t, connect(t, proxied(), database), "m", "select iid from mbus4.consume('q')")
}

// Many sessions need the schema at the same moment, in a database that has none.
func TestFirstCallsAtOnce(t *testing.T) {
	t.Parallel()
	database := newDatabase(t)
	errs := make(chan error, 8)
	ctx := testContext(t)
	for i := range cap(errs) {
		go func() { errs <- firstCall(ctx, proxied().dsn(database), fmt.Sprint("q", i)) }()
	}
	for range cap(errs) {
		if err := <-errs; err != nil {
			t.Error(describe(err))
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
