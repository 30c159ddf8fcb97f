package ops

import (
	"fmt"
	"path/filepath"
	"testing"

	"mbusproxy/integration/internal/harness"
	"mbusproxy/integration/internal/programs"
)

// TestDumpAndRestore dumps a database through the proxy and restores it through the proxy into
// another: all that was there goes on.
func TestDumpAndRestore(t *testing.T) {
	t.Parallel()
	dump, restore := programs.Find(t, "pg_dump", "postgresql-client"), programs.Find(t, "pg_restore", "postgresql-client")
	from, to := harness.NewQueueDatabase(t, "q", "r"), harness.NewDatabase(t)
	old := harness.Connect(t, harness.Proxied(), from)
	if _, client := programs.FindPsql(t); harness.ServerMajor(t) > client {
		t.Skip("pg_dump is older than the server: it refuses to dump it")
	}
	for _, sql := range []string{
		"select mbus4.create_consumer('q', 'picky', $$t.data->'n' > '1'$$)",
		"select mbus4.create_trigger('q', 'r')",
		"select mbus4.alter_consumer('q', 'default', max_attempts => 7)",
		"select mbus4.post('q', hstore('n', n::text)) from generate_series(1, 3) n",
		"select mbus4.post('q', 'n=>4', delayed_until => now() + interval '1 hour')",
		"select mbus4.post('r', payload => '{\"n\": [5]}')",
		"select mbus4.schedule('nightly', '0 3 * * *', 'q')",
		"select mbus4.consume('q')",
		"select mbus4.fail(lease, 'no good') from mbus4.lease('q')",
		"select mbus4.lease('q', lease => '1 hour')",
		"select mbus4.add_message('1')",
	} {
		harness.Ask(t, old, sql)
	}
	const state = "select string_agg(format('%s/%s %s %s %s %s', queue, consumer, ready, delayed, leased, dead), ', ' order by queue, consumer) from mbus4.consumers"
	before := harness.Ask(t, old, state)

	file := filepath.Join(t.TempDir(), "dump")
	if got := programs.Run(t, nil, "", "", dump, "-Fc", "-f", file, "-d", harness.Proxied().URL(from)); got.Status != 0 {
		t.Fatal(got.Stderr)
	}
	if got := programs.Run(t, nil, "", "", restore, "--exit-on-error", "-d", harness.Proxied().URL(to), file); got.Status != 0 {
		t.Fatal(got.Stderr)
	}

	// Sequences are dumped as they are when the dump comes to them, which is later than the rows:
	// messages may lie below the hints.
	direct := harness.Connect(t, harness.Direct(), to)
	harness.Ask(t, direct, "select setval(c.oid, (extract(epoch from clock_timestamp()) * 1e6)::bigint) from pg_class c where c.relnamespace = 'mbus4'::regnamespace and c.relkind = 'S' and c.relname ~ '^hint_[0-9]+$'")
	restored := harness.Connect(t, harness.Proxied(), to)
	harness.Want(t, restored, before, state)
	harness.Want(t, restored, "1", "select count(*) from mbus4.consume('r', wait => '60s') where data is not null")
	for _, n := range []string{"2", "3"} {
		harness.Want(t, restored, n, "select data->'n' from mbus4.consume('q', 'picky', wait => '60s')")
	}
	harness.Want(t, restored, "7", "select max_attempts from mbus4.consumer where qname = 'q' and name = 'default'")
	harness.Want(t, restored, "nightly", "select name from mbus4.schedules")
	harness.Want(t, restored, "1", "select mbus4.redrive('q')")
	harness.Await(t, restored, "select ready = 1 from mbus4.consumers where queue = 'q' and consumer = 'default'")
	iid := harness.Ask(t, restored, "select mbus4.post('q', 'n=>9')")
	harness.Want(t, restored, "t", fmt.Sprintf("select mbus4.is_msg_exists('%s')", iid))
}
