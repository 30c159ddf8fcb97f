package ops

import (
	"context"
	"fmt"
	"testing"

	"mbusproxy/integration/internal/forms"
	"mbusproxy/integration/internal/harness"
)

// A cancel request reaches a statement with a call, and the session goes on.
func TestCancelCall(t *testing.T) {
	t.Parallel()
	database := harness.NewQueueDatabase(t, "q")
	holder, taker, server := harness.Connect(t, harness.Proxied(), database), harness.Connect(t, harness.Proxied(), database), harness.Connect(t, harness.Direct(), database)
	harness.Ask(t, holder, "select mbus4.post('q', 'a=>1', iid => 'm')")
	harness.Want(t, holder, "m", "begin; select iid from mbus4.consume('q')")
	for _, f := range forms.All() {
		ctx := harness.Context(t)
		failed := make(chan error, 1)
		go func() {
			_, err := f.Run(ctx, taker, forms.Do("select iid from mbus4.take($1)", "m"))
			failed <- err
		}()
		harness.Await(t, server, fmt.Sprintf(
			"select count(*) = 1 from pg_stat_activity where pid = %d and wait_event_type = 'Lock'", taker.PID()))
		cancelCtx, cancel := context.WithTimeout(ctx, harness.AskLimit)
		if err := taker.CancelRequest(cancelCtx); err != nil {
			t.Error(err)
		}
		cancel()
		if err := <-failed; harness.SQLState(err) != "57014" {
			t.Errorf("%s: %s, want 57014", f.Name, harness.Describe(err))
		}
		harness.Want(t, taker, "1", "select 1")
	}
	harness.Ask(t, holder, "rollback")
	harness.Want(t, taker, "m", "select iid from mbus4.take('m')")
}
