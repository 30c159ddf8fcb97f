package web

import (
	"fmt"
	"net/url"
	"testing"

	"mbusproxy/integration/internal/harness"
)

// furnish fills a site with a little of everything.
func furnish(t *testing.T, s *site) {
	t.Helper()
	for _, sql := range []string{
		`select mbus4.create_consumer('orders', 'billing', '(t.properties->''PAID'') = ''yes''')`,
		`select mbus4.create_consumer('orders', 'audit')`,
		`select mbus4.create_trigger('orders', 'archive')`,
		`select mbus4.post('orders', hstore('id', i::text) || hstore('customer', 'c' || i % 7), properties => hstore('PAID', case when i % 3 = 0 then 'yes' else 'no' end)) from generate_series(1, 120) i`,
		`select mbus4.post('orders', 'id=>later', delayed_until => now()::timestamp + interval '1 hour', iid => 'later')`,
		`select mbus4.post('orders', 'id=>first', iid => 'first')`,
		`select mbus4.post('orders', 'id=>second', headers => 'consume_after=>"{first}"'::hstore, iid => 'second')`,
		`select mbus4.add_message(jsonb_build_object('job', i)) from generate_series(1, 5) i`,
		`select * from mbus4.get_next_message(77)`,
		`select mbus4.semaphore_get_or_create('reports')`,
		`select mbus4.semaphore_enqueue('reports', i, i) from generate_series(1, 4) i`,
		`select mbus4.schedule('nightly', '0 3 * * *', 'orders', 'id=>night')`,
	} {
		s.ask(t, sql)
	}
}

// Each page shows what it is about, to a member of mbus4_user.
func TestPages(t *testing.T) {
	t.Parallel()
	s := newSite(t, "orders", "archive")
	furnish(t, s)
	b := newBrowser(t, desk)
	b.logIn(s.user, password, s.database)
	b.has("orders", "archive", "posted a second")
	for path, parts := range map[string][]string{
		"queue?name=orders":                                       {"Queue orders", "billing", "PAID", "audit", "archive", "nightly"},
		"messages?queue=orders":                                   {"50 messages", "Next"},
		"messages?queue=orders&state=delayed":                     {"1 message", "later"},
		"messages?queue=orders&state=waiting":                     {"1 message", "second"},
		"messages?queue=orders&column=data&key=customer&value=c3": {"17 messages", "There are no more"},
		"messages?queue=orders&selector=" + url.QueryEscape("(t.data->'id')::int between 10 and 12"): {"3 messages"},
		"message?iid=second":    {"waiting", "first", "Route and dependencies"},
		"message?iid=first":     {"ready", "waits for this"},
		"message?iid=nobody":    {"No consumer is still to receive a message with this iid"},
		"work":                  {"4 ready", "1 claimed", `"job"`},
		"semaphores":            {"reports"},
		"semaphore?key=reports": {"Running", "Waiting"},
		"sessions":              {"Only members of the role"},
		"horizon":               {"What pins it", "message"},
	} {
		b.open(path)
		b.has(parts...)
		if t.Failed() {
			t.Fatalf("at %s", path)
		}
	}
}

// To members of the console's role the page of sessions says what a session calls, and how many messages it holds.
func TestSessionsSayWhatIsHeld(t *testing.T) {
	t.Parallel()
	s := newSite(t, "orders")
	s.ask(t, "select mbus4.post('orders', hstore('n', n::text)) from generate_series(1, 9) n")
	s.ask(t, "begin")
	s.ask(t, "select iid from mbus4.consumen('orders', amt => 4)")
	other := harness.Connect(t, harness.Proxied(), s.database)
	harness.Ask(t, other, "begin")
	harness.Ask(t, other, "select count(*) from mbus4.consumen('orders', amt => 2)")
	b := newBrowser(t, desk)
	b.logIn(s.operator, password, s.database)
	b.open("sessions")
	row := func(cell string) string {
		return fmt.Sprintf(`[...document.querySelectorAll("[data-part=proxy] tbody tr")].some((tr) => { const of = (l) => tr.querySelector("[data-label=" + l + "]").innerText;
			return of("database") == %q && of("state") == "idle in transaction" && of("call") == "consumen('orders')" && of("held") == %q })`, s.database, cell)
	}
	b.await(row("4"))
	b.await(row("?"))
}

// A search goes on from page to page, and finds each message once.
func TestSearchGoesOn(t *testing.T) {
	t.Parallel()
	s := newSite(t, "orders")
	s.ask(t, `select mbus4.post('orders', hstore('id', i::text), iid => 'm' || lpad(i::text, 3, '0')) from generate_series(1, 130) i`)
	b := newBrowser(t, desk)
	b.logIn(s.user, password, s.database)
	b.open("messages?queue=orders")
	seen := map[string]bool{}
	for page := 1; ; page++ {
		for _, iid := range evaluate[[]string](b, `[...document.querySelectorAll("tbody th a")].map((a) => a.innerText)`) {
			if seen[iid] {
				t.Errorf("%s comes twice", iid)
			}
			seen[iid] = true
		}
		if b.nodes("a[rel=next]") == 0 {
			if page != 3 {
				t.Errorf("there are %d pages", page)
			}
			break
		}
		b.press("Next")
	}
	if len(seen) != 130 {
		t.Errorf("%d messages were found", len(seen))
	}
}

// What a member of mbus4_admin may do has a button, and does it; who may not has none.
func TestPause(t *testing.T) {
	t.Parallel()
	s := newSite(t, "orders")
	b := newBrowser(t, desk)
	b.logIn(s.user, password, s.database)
	b.open("queue?name=orders")
	b.hasNot("Pause the queue")
	other := newBrowser(t, desk)
	other.logIn(s.admin, password, s.database)
	other.open("queue?name=orders")
	other.press("Pause the queue")
	other.has("Queue orders is paused.", "Resume the queue")
	if got := s.ask(t, "select paused from mbus4.queues where queue = 'orders'"); got != "t" {
		t.Errorf("paused: %s", got)
	}
	b.await(`document.body.innerText.includes("paused")`) // live, in the other one's window
	other.press("Resume the queue")
	other.has("no longer paused")
	if got := harness.Ask(t, s.direct, "select paused from mbus4.queues where queue = 'orders'"); got != "f" {
		t.Errorf("paused: %s", got)
	}
}
