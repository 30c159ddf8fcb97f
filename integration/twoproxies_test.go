package integration

import (
	"fmt"
	"testing"
)

// Two proxies in front of one server are as one: the schema is created once, and what is made
// through one is in force for the next statement through the other.
func TestTwoProxies(t *testing.T) {
	t.Parallel()
	second := anotherProxy(t)
	database := newDatabase(t)
	ends := []endpoint{proxied, second.endpoint}
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
	proxy := anotherProxy(t)
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
	want(t, connect(t, proxied, database), "m", "select iid from mbus4.consume('q')")
}

// anotherProxy starts one more proxy for a test, which ends it at the latest.
func anotherProxy(t *testing.T, flags ...string) *proxyProcess {
	t.Helper()
	p, err := startProxy(proxyBinary, direct, flags...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		select {
		case <-p.exited:
		default:
			if err := p.stop(); err != nil {
				t.Error(err)
			}
		}
		if t.Failed() {
			t.Logf("the proxy's stderr:\n%s", p.logTail())
		}
	})
	return p
}
