// Package bulk tests what is done with many dead messages at once: that each is dealt with once
// whatever ends in the middle, that it can be undone, that nobody does it but who may, and that no
// batch takes long however many there are.
//
// It drives package mbusproxy/internal/bulk, through the proxy.
package bulk

import (
	"context"
	"fmt"
	"strconv"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"mbusproxy/integration/internal/harness"
	"mbusproxy/internal/bulk"
)

func TestMain(m *testing.M) { harness.Main(m) }

// connect opens a session through the proxy as a role.
func connect(t *testing.T, database, role string) *pgx.Conn {
	t.Helper()
	config, err := pgx.ParseConfig(harness.Proxied().DSN(database) + " user=" + role)
	if err != nil {
		t.Fatal(err)
	}
	conn, err := pgx.ConnectConfig(harness.Context(t), config)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { harness.Close(conn) })
	return conn
}

// die makes dead messages 1 to n of queue q: consumer, error, attempts and data say which, and
// every tenth has an iid that was chosen.
func die(t *testing.T, database string, n int) {
	t.Helper()
	conn := harness.Connect(t, harness.Proxied(), database)
	harness.Ask(t, conn, fmt.Sprintf(`
		select count(mbus4.post('dmq', hstore('n', n::text), hstore(array['destination', 'q', 'dmq.consumer', 'default', 'dmq.error', 'error ' || n %% 3, 'dmq.added',
			'2026-01-01 00:00:00', 'retry.attempt', '5', 'colour', case n %% 2 when 0 then 'red' else 'blue' end]),
			iid => case when n %% 10 = 0 then 'own' || n end))
		from generate_series(1, %d) n`, n))
}

// all is everything that lies in dmq and in the queues, as it is shown.
const all = `
select coalesce(string_agg(format('%s %s %s', c.qname, m.iid is not null or c.id = 1, m.data->'n'), ', ' order by c.qname, (m.data->'n')::int), 'nothing')
from mbus4.message m join mbus4.consumer c on c.id = m.consumer_id`

// dead is what matters of each dead message, and must be the same after an undo: the iid that it
// goes back under is that in its headers, if any.
const dead = `
select md5(string_agg(coalesce(m.headers->'dmq.iid', mbus4.iid_of(m.iid, 'dmq', m.available_at, m.id)) || coalesce(m.headers, '')::text || m.data::text || m.added, ' ' order by (m.data->'n')::int))
from mbus4.message m where m.consumer_id = 1`

func begin(t *testing.T, conn bulk.Querier, r bulk.Request) int64 {
	t.Helper()
	id, err := bulk.Begin(harness.Context(t), conn, r)
	if err != nil {
		t.Fatal(err)
	}
	return id
}

// run runs an operation to its end, in small batches.
func run(t *testing.T, conn *pgx.Conn, id int64) bulk.Operation {
	t.Helper()
	o, err := bulk.Run(harness.Context(t), bulk.In(conn), id, bulk.Options{Batch: 7})
	if err != nil {
		t.Fatal(err)
	}
	if o.State != bulk.Done {
		t.Fatalf("operation %d is %s", id, o.State)
	}
	return o
}

func wantCounts(t *testing.T, o bulk.Operation, done, refused, held int64) {
	t.Helper()
	if o.Done != done || o.Refused != refused || o.Held != held {
		t.Errorf("operation %d (%s): %d done, %d refused, %d held; want %d, %d, %d", o.ID, o.Kind, o.Done, o.Refused, o.Held, done, refused, held)
	}
}

func look(t *testing.T, conn *pgx.Conn, s bulk.Selection, samples int) bulk.Preview {
	t.Helper()
	p, err := bulk.Look(context.Background(), conn, s, samples, 0, time.Minute)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func number(t *testing.T, s string) int64 {
	t.Helper()
	n, err := strconv.ParseInt(s, 10, 64)
	if err != nil {
		t.Fatal(err)
	}
	return n
}
