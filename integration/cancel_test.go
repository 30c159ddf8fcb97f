package integration

import (
	"context"
	"fmt"
	"testing"
	"time"
)

// A cancel request reaches a statement with a call, and the session goes on.
func TestCancelCall(t *testing.T) {
	t.Parallel()
	database := newQueueDatabase(t, "q")
	holder, taker, server := connect(t, proxied(), database), connect(t, proxied(), database), connect(t, direct(), database)
	ask(t, holder, "select mbus4.post('q', 'a=>1', iid => 'm')")
	want(t, holder, "m", "begin; select iid from mbus4.consume('q')")
	for _, f := range forms() {
		ctx := testContext(t)
		failed := make(chan error, 1)
		go func() {
			_, err := f.run(ctx, taker, do("select iid from mbus4.take($1)", "m"))
			failed <- err
		}()
		await(t, server, 20*time.Second, fmt.Sprintf(
			"select count(*) = 1 from pg_stat_activity where pid = %d and wait_event_type = 'Lock'", taker.PID()))
		cancelCtx, cancel := context.WithTimeout(ctx, askLimit)
		if err := taker.CancelRequest(cancelCtx); err != nil {
			t.Error(err)
		}
		cancel()
		if err := <-failed; sqlState(err) != "57014" {
			t.Errorf("%s: %s, want 57014", f.name, describe(err))
		}
		want(t, taker, "1", "select 1")
	}
	ask(t, holder, "rollback")
	want(t, taker, "m", "select iid from mbus4.take('m')")
}
