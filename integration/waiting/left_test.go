package waiting

import (
	"io"
	"testing"

	"github.com/jackc/pgx/v5/pgproto3"

	"mbusproxy/integration/internal/frontend"
	"mbusproxy/integration/internal/harness"
)

// Nothing is taken for a client that has sent Terminate behind its call, or that has ended its
// sending, and that keeps its connection open. What is there already it gets, as from a call that
// does not wait.
func TestWaitOfWhoHasLeft(t *testing.T) {
	t.Parallel()
	database := harness.NewQueueDatabase(t, "q")
	direct, poster := harness.Connect(t, harness.Direct(), database), harness.Connect(t, harness.Proxied(), database)
	const call = `select data->'n' from mbus4.consume('q', wait => '1h')`
	forms := map[string][]pgproto3.FrontendMessage{
		"simple":   {&pgproto3.Query{String: call}},
		"extended": {frontend.Parse("", call), frontend.Bind("", ""), frontend.Execute("", 0), frontend.Sync()},
		"no Sync":  {frontend.Parse("", call), frontend.Bind("", ""), frontend.Execute("", 0)},
		"block":    {&pgproto3.Query{String: "begin"}, &pgproto3.Query{String: call}, &pgproto3.Query{String: "commit"}},
	}
	for name, form := range forms {
		for _, later := range []bool{false, true} {
			for range 2 {
				w := frontend.Connect(t, harness.Proxied(), database)
				last := &pgproto3.Terminate{}
				messages := form
				if !later {
					messages = append(form[:len(form):len(form)], last)
				}
				frontend.Send(t, w.Hijacked.Conn, messages...)
				if later {
					harness.Await(t, direct, `select count(*) = 1 from pg_stat_activity where pid = $1 and query like '%at_await%' and state like 'idle%'`, int(w.Hijacked.PID))
					frontend.Send(t, w.Hijacked.Conn, last)
				}
				// The session ends without being woken.
				harness.AwaitBackendGone(t, direct, w.Hijacked.PID)
				harness.Ask(t, poster, `select mbus4.post('q', 'n=>1')`)
				harness.Want(t, poster, "1", `select data->'n' from mbus4.consume('q')`)
				if _, err := io.ReadAll(w.Hijacked.Conn); err != nil {
					t.Errorf("%s, later %t: %v", name, later, err)
				}
			}
		}
		if name == "no Sync" {
			continue // nothing is committed
		}
		harness.Ask(t, poster, `select mbus4.post('q', 'n=>1')`)
		w := frontend.Connect(t, harness.Proxied(), database)
		frontend.Send(t, w.Hijacked.Conn, append(form[:len(form):len(form)], &pgproto3.Terminate{})...)
		if got := w.Exchange(`DataRow "1"`); got == "" {
			t.Error("no message")
		}
		if _, err := io.ReadAll(w.Hijacked.Conn); err != nil {
			t.Error(err)
		}
		harness.Want(t, poster, "", `select data->'n' from mbus4.consume('q')`)
	}
}
