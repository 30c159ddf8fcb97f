package ops

import (
	"testing"

	"mbusproxy/integration/internal/harness"
)

// A pause is part of the transaction that makes it, and in force for the next statement through any
// proxy from its commit on.
func TestPauseAcrossProxies(t *testing.T) {
	t.Parallel()
	second := harness.NewProxy(t)
	database := harness.NewQueueDatabase(t, "q")
	one, two := harness.Connect(t, harness.Proxied(), database), harness.Connect(t, second.Endpoint, database)
	harness.Ask(t, two, "prepare consume as select iid from mbus4.consume('q')")
	for range 7 { // more than five times: the server then has a generic plan
		harness.Want(t, one, "m", "select mbus4.post('q', 'a=>1', iid => 'm')")
		harness.Want(t, two, "m", "execute consume")
	}
	for range 3 {
		harness.Ask(t, one, "begin; select mbus4.pause_queue('q')")
		harness.Want(t, one, "a", "select mbus4.post('q', 'a=>1', iid => 'a')")
		harness.Want(t, two, "b", "select mbus4.post('q', 'a=>1', iid => 'b')")
		harness.Want(t, one, "", "select iid from mbus4.consume('q')")
		harness.Want(t, two, "b", "execute consume")
		harness.Ask(t, one, "commit")
		harness.Want(t, two, "", "execute consume")
		harness.Want(t, two, "", "select iid from mbus4.consumen('q', amt => 9)")
		harness.Ask(t, two, "begin; select mbus4.resume_queue('q')")
		harness.Want(t, one, "", "select iid from mbus4.consume('q')")
		harness.Ask(t, two, "rollback")
		harness.Want(t, one, "", "select iid from mbus4.consume('q')")
		harness.Ask(t, two, "select mbus4.resume_queue('q')")
		harness.Want(t, one, "a", "select iid from mbus4.consume('q')")
	}
}
