package web

import (
	"fmt"
	"net/url"
	"strings"
	"testing"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"

	"mbusproxy/integration/internal/harness"
)

// hostile are texts that would do something if they were taken for a part of the page.
var hostile = []string{
	`<script>window.pwned = 1</script>`, `"><img src=x onerror="window.pwned = 1">`, `'><svg onload='window.pwned = 1'>`, `</textarea></title></style><script>window.pwned = 1</script>`,
	`javascript:window.pwned=1`, `{{.Token}}`, `<a href="javascript:window.pwned=1" autofocus onfocus="window.pwned=1">x</a>`, `]]><script>window.pwned=1</script>`, "\u202eevil\u202c\u200b", "a\nevent: news\ndata: <b data-part=queues>pwned</b>\n\n",
}

// Whatever stands in messages, names and errors is shown as text: none of it runs, asks anywhere
// for anything, or turns what is next to it.
func TestMarkup(t *testing.T) {
	t.Parallel()
	s := newSite(t, "orders")
	ask := func(sql string, args ...any) { harness.Ask(t, s.direct, sql, args...) }
	for i, m := range hostile {
		s.ask(t, `select mbus4.post('orders', hstore(array['k', $1, $1, 'v']), headers => hstore('h', $1), properties => hstore($1, $1), iid => $1 || $2)`, m, fmt.Sprint(i))
		s.ask(t, `select mbus4.post('dmq', hstore('k', $1), headers => hstore(array['destination', 'orders', 'dmq.error', $1]))`, m)
		s.ask(t, `select mbus4.add_message(to_jsonb($1::text))`, m)
		s.ask(t, `select mbus4.semaphore_get_or_create($1)`, m)
		// Names that no call lets in, as somebody may have put them into the tables.
		ask(`insert into mbus4.queue (qname, consumers_cnt) values ($1, 1)`, m)
		ask(`insert into mbus4.consumer (queue_id, qname, name, selector) select id, qname, $1, $1 from mbus4.queue where qname in ('orders', $1)`, m)
	}
	ask(`update mbus4.work_queue set last_error = payload::text, attempts = 1`)
	other := harness.Connect(t, harness.Direct(), s.database)
	harness.Ask(t, other, `set application_name = '<script>window.pwned=1</script>'; begin; select 1 as "<script>window.pwned = 1</script>" from mbus4.queue`)
	b := newBrowser(t, desk)
	b.expect("status of 4")
	b.logIn(s.operator, password, s.database)
	paths := []string{"", "queue?name=orders", "messages?queue=orders", "messages?queue=orders&state=dead", "work", "semaphores", "sessions", "horizon"}
	for i, m := range hostile {
		q := url.QueryEscape(m)
		if i%2 == 0 {
			paths = append(paths, "queue?name="+q, "message?iid="+url.QueryEscape(m+fmt.Sprint(i)))
		} else {
			paths = append(paths, "messages?queue="+q, "messages?queue=orders&column=data&key="+q+"&value="+q+"&selector="+q, "semaphore?key="+q)
		}
	}
	for _, p := range paths {
		b.open(p)
		if evaluate[bool](b, `"pwned" in window || document.querySelector("main script, main img, main [onerror], main [onload], main [onfocus], main a[href^='javascript:']") !== null || document.querySelector("main").textContent.includes("\u202e")`) {
			t.Errorf("at %s something of what is shown is taken for the page's own", p)
		}
	}
	b.open("message?iid=" + url.QueryEscape(hostile[0]+"0"))
	b.has(hostile[0], "ready")
	b.open("message?iid=" + url.QueryEscape(hostile[8]+"8"))
	b.has("⟨U+202E⟩evil⟨U+202C⟩⟨U+200B⟩")
	// Nor by the stream of events.
	b.open("")
	s.ask(t, "select mbus4.create_queue('news', 1)")
	b.await(`[...document.querySelectorAll("tbody th")].some((e) => e.innerText.trim() === "news")`)
	if evaluate[bool](b, `"pwned" in window || document.body.innerText.includes("pwned</b>") && document.querySelector("b[data-part]") !== null`) {
		t.Error("an event is taken for the page's own")
	}
	b.open("login?next=" + url.QueryEscape(hostile[1]))
}

// All of it works without a script.
func TestWithoutScript(t *testing.T) {
	t.Parallel()
	s := newSite(t, "orders")
	s.ask(t, "select mbus4.post('orders', 'id=>1', iid => 'one')")
	b := newBrowser(t, telephone)
	b.do(chromedp.Navigate("about:blank"))
	send(b, emulation.SetScriptExecutionDisabled, emulation.SetScriptExecutionDisabledParams{Value: true})
	b.logIn(s.admin, password, s.database)
	b.press("orders")
	b.press("Pause the queue")
	b.has("Queue orders is paused.")
	b.press("Browse messages")
	b.press("one")
	b.has("paused", "Contents")
	if got := s.ask(t, "select paused from mbus4.queues where queue = 'orders'"); got != "t" {
		t.Errorf("paused: %s", got)
	}
	b.press("Log out")
	b.has("Postgres user")
}

// The keyboard is enough: the first key leads past the navigation, each thing that can be pressed
// can be reached, and one sees where one is.
func TestKeyboard(t *testing.T) {
	t.Parallel()
	s := newSite(t, "orders")
	b := newBrowser(t, desk)
	b.open("login")
	b.await(`document.activeElement.id === "user"`) // the browser moves there behind the first frame
	b.do(chromedp.KeyEvent(s.user+kb.Tab+password+kb.Tab), chromedp.SetValue(chromedp.CSS("#database"), s.database))
	b.follow(chromedp.KeyEvent(kb.Enter))
	b.has("Overview")
	b.do(chromedp.KeyEvent(kb.Tab))
	if got := evaluate[string](b, "document.activeElement.innerText"); got != "Skip to content" {
		t.Errorf("the first is %q", got)
	}
	b.do(chromedp.KeyEvent(kb.Enter))
	if got := evaluate[string](b, "document.activeElement.id"); got != "main" {
		t.Errorf("it leads to %q", got)
	}
	var reached []string
	for range 12 {
		b.do(chromedp.KeyEvent(kb.Tab))
		if evaluate[bool](b, "document.activeElement === document.body") {
			break // the browser's own things come next
		}
		reached = append(reached, evaluate[string](b, `document.activeElement.innerText.split("\n")[0]`))
		if outline := evaluate[string](b, `getComputedStyle(document.activeElement).outlineStyle`); outline != "solid" && outline != "auto" {
			t.Errorf("nothing shows that %q has the keyboard: %s", reached[len(reached)-1], outline)
		}
	}
	if !strings.Contains(strings.Join(reached, "|"), "orders") || !strings.Contains(strings.Join(reached, "|"), "Pause updates") {
		t.Errorf("reached: %q", reached)
	}
}

// A page brings itself up to date, but not while it is held still, and says when the log-in is over.
func TestLive(t *testing.T) {
	t.Parallel()
	s := newSite(t, "orders")
	b := newBrowser(t, desk)
	b.logIn(s.user, password, s.database)
	ready := `[...document.querySelectorAll("tbody tr")].map((r) => r.innerText).join(" ")`
	b.await(`document.querySelector("#pulse").innerText.startsWith("live")`)
	s.ask(t, "select mbus4.post('orders', 'id=>1') from generate_series(1, 1234)")
	b.await(ready + `.includes("1\u202f234")`)
	b.do(chromedp.Click(chromedp.CSS("#hold")))
	b.await(`document.querySelector("#hold").getAttribute("aria-pressed") === "true" && document.querySelector("#pulse").innerText.startsWith("held")`)
	s.ask(t, "select mbus4.purge_queue('orders')")
	if !evaluate[bool](b, ready+`.includes("1\u202f234")`) {
		t.Error("a page that is held still has changed")
	}
	b.do(chromedp.Click(chromedp.CSS("#hold")))
	b.await("!" + ready + `.includes("1\u202f234")`)
	harness.Ask(t, s.direct, "select pg_terminate_backend(pid) from pg_stat_activity where usename = $1", s.user)
	b.await(`document.querySelector("#pulse").innerText.includes("your log-in has ended")`)
	b.open("")
	b.has("Your log-in has ended.")
}
