package web

import (
	"fmt"
	"net/http"
	"net/url"
	"testing"
	"time"

	"mbusproxy/integration/internal/harness"
	"mbusproxy/internal/pgcluster"
)

// pageMemory is what a proxy may take whose page shows what clients have made as large as they can.
const pageMemory = 192 << 20

// Whatever members of mbus4_user have put into the tables, the page shows a part of it that does
// not fill the proxy's memory.
func TestPagesAreBounded(t *testing.T) {
	s := newSite(t, "orders")
	port, err := pgcluster.FreePort("127.0.0.1")
	if err != nil {
		t.Fatal(err)
	}
	proxy := harness.NewPlainProxy(t, "--http", fmt.Sprintf("127.0.0.1:%d", port))
	user := harness.Connect(t, harness.Direct(), s.database)
	for _, sql := range []string{
		"set role mbus4_user; select nextval('mbus4.message_id')",
		// hstore of megabytes, which the server keeps in some ten kilobytes, and some that it keeps in less than 20.
		`insert into mbus4.message (id, consumer_id, available_at, added, iid, headers, properties, data)
			select n, 1, now(), now(), 'dead' || n, hstore(array['dmq.error', repeat('e', 3000000), 'destination', repeat('q', 3000000), 'dmq.consumer', repeat('c', 3000000)]), hstore('p', repeat('p', 3000000)), hstore('d', repeat('d', 3000000))
			from generate_series(1, 20) n`,
		`insert into mbus4.message (id, consumer_id, available_at, added, iid, data)
			select n, k.id, case when n < 3 then now() + interval '1 h' else now() end, case n when 1 then 'infinity' when 2 then '-infinity' else now() end, 'small' || n, hstore('d', repeat(E'\x01', 1500000)) from generate_series(1, 50) n, mbus4.consumer k where k.qname = 'orders'`,
		`insert into mbus4.message (id, consumer_id, available_at, added, iid, after)
			select 1000, k.id, 'infinity', now(), 'behind', array_agg(n || repeat('w', 100000)) from generate_series(1, 1500) n, mbus4.consumer k where k.qname = 'orders' group by k.id`,
		`insert into mbus4.message (id, consumer_id, available_at, added, iid) select 2000, k.id, '-infinity', now(), 'ever' from mbus4.consumer k where k.qname = 'orders'`,
		`insert into mbus4.work_queue (payload, next_attempt_at) values ('1', 'infinity')`,
		`insert into mbus4.schedule (name, cron, timezone, qname) select 's' || n, repeat('* ', 3000000), repeat('Z', 20000000), 'orders' from generate_series(1, 8) n`,
		`insert into mbus4.work_queue (payload, last_error) select to_jsonb(repeat('j', 20000000)), repeat('e', 20000000) from generate_series(1, 8)`,
	} {
		harness.Ask(t, user, sql)
	}
	v := newVisitor(t, "127.0.0.1")
	v.base = fmt.Sprintf("http://127.0.0.1:%d/page/", port)
	v.mustLogIn(s.user, s.database)
	for _, path := range []string{"", "dead", "dead/preview?kind=redrive", "messages?queue=orders", "messages?queue=orders&state=delayed", "messages?queue=dmq", "messages?queue=dmq&column=data&key=d", "message?iid=dead1", "message?iid=behind", "queue?name=orders", "work", "operations", "sessions", "horizon", "semaphores"} {
		var a answer
		peak := proxy.Peak(t, func() {
			// On a busy machine the server may take longer to read so much than a page gives it.
			for limit := time.Now().Add(harness.AskLimit); ; {
				if a = v.get(path); a.status != http.StatusServiceUnavailable || time.Now().After(limit) {
					return
				}
			}
		})
		if t.Logf("%s: %d, %d bytes, RSS %d MiB at most", path, a.status, len(a.text), peak>>20); peak > pageMemory || a.status != http.StatusOK {
			t.Errorf("%s: status %d, the proxy takes %d MiB", path, a.status, peak>>20)
		}
	}
	// A time that is none, of anybody's, does not take a page away.
	if a := v.get("message?" + url.Values{"iid": {"small1"}}.Encode()); a.status != http.StatusOK {
		t.Errorf("a message: %d", a.status)
	}
}
