package waiting

import (
	"testing"
	"time"

	"mbusproxy/integration/internal/harness"
)

// Who waits gets what is due when the server's clock has been set, whichever way, though nothing else happens.
func TestWaitWhileClockIsSet(t *testing.T) {
	t.Parallel()
	server := harness.NewSteppedServer(t)
	proxy := server.NewProxy(t)
	database := server.NewQueueDatabase(t, proxy, "q")
	direct, poster, waiter := harness.Connect(t, server.Endpoint, database), harness.Connect(t, proxy.Endpoint, database), harness.Connect(t, proxy.Endpoint, database)
	now := func() string {
		return harness.Ask(t, direct, "select extract(epoch from clock_timestamp() - statement_timestamp()) < 1")
	}
	if now() != "t" {
		t.Fatal("the server's clock does not go on")
	}
	for _, c := range []struct {
		name string
		post string
		step time.Duration
	}{
		{"a delay is passed over", `select mbus4.post('q', 'n=>1', delayed_until => localtimestamp + interval '1 hour')`, time.Hour},
		{"a lease is passed over", `with p as (select mbus4.post('q', 'n=>1')) select count(*) from p`, time.Hour},
		{"it goes back before the post", "", -3 * time.Second},
		{"it goes back an hour before the post", "", -time.Hour},
	} {
		if c.post != "" {
			harness.Ask(t, poster, c.post)
		}
		if c.name == "a lease is passed over" {
			harness.Ask(t, poster, `select 1 from mbus4.lease('q', lease => '1 hour')`)
		}
		a := ask(t, waiter, waitForOne)
		awaitWaiting(t, direct, waiter)
		<-time.After(2 * time.Second) // the Watcher has looked, and nothing happens any more
		began := time.Now()
		server.Step(t, c.step)
		if c.post == "" {
			harness.Ask(t, poster, `select mbus4.post('q', 'n=>1')`)
		}
		a.want(t, "1")
		t.Logf("%s: %v", c.name, time.Since(began).Round(time.Millisecond))
	}
}
