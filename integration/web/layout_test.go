package web

import (
	"net/url"
	"strings"
	"testing"

	"mbusproxy/integration/internal/harness"
)

// Nothing that a page shows on a desk is cut off or lies over something else, and on a telephone a picture can be read.
func TestNothingIsCutOff(t *testing.T) {
	t.Parallel()
	s := newSite(t, "orders", "name_with_many_underscores")
	long := strings.Repeat("<i>long\u202e", 30)
	s.ask(t, "select mbus4.post('orders', 'id=>1', iid => $1)", long)
	s.ask(t, "select mbus4.post('orders', 'id=>2', headers => hstore('consume_after', array[$1]::text), iid => 'after')", long)
	busy := harness.Connect(t, harness.Proxied(), s.database)
	harness.Ask(t, busy, "begin isolation level repeatable read; select count(*) from mbus4.consume('orders')")
	b := newBrowser(t, desk)
	b.logIn(s.operator, password, s.database)
	if !evaluate[bool](b, `[...document.querySelectorAll("figcaption b")].every((e) => e.getClientRects().length === 1)`) {
		t.Error("a number beside a chart takes two lines")
	}
	if !evaluate[bool](b, `(() => { const at = [...document.querySelectorAll("[data-part=process] .chart svg")].map((e) => Math.round(e.getBoundingClientRect().bottom)); return at.length === 3 && new Set(at).size === 1 })()`) {
		t.Error("charts in a row do not stand on one line")
	}
	b.hasNot("00:01:00")
	b.has("over 1 min")
	b.open("sessions")
	if got := evaluate[string](b, `(() => { const s = document.querySelector("[data-part=proxy] .scroll"), e = [...s.querySelectorAll("button")].every((e) => e.getBoundingClientRect().right <= innerWidth); return s.scrollWidth <= s.clientWidth && e ? "" : s.scrollWidth + " in " + s.clientWidth })()`); got != "" {
		t.Errorf("the table of sessions is wider than its place: %s", got)
	}
	for _, iid := range []string{"after", long} {
		b.open("message?iid=" + url.QueryEscape(iid))
		if got := evaluate[string](b, `[...document.querySelectorAll("svg.way g")].filter((g) => [...g.querySelectorAll("text")].some((e) => e.getBBox().x + e.getBBox().width > g.querySelector("rect").getBBox().width)).map((g) => g.textContent).join("; ")`); got != "" || b.nodes("svg.way g") < 3 {
			t.Errorf("texts are longer than their boxes: %s (%d boxes)", got, b.nodes("svg.way g"))
		}
	}
	b.look(telephone)
	b.open("message?iid=after")
	if got := evaluate[float64](b, `(() => { const e = document.querySelector("svg.way"); return e.getBoundingClientRect().width / e.viewBox.baseVal.width })()`); got < 0.99 {
		t.Errorf("the picture is drawn at %.2f of its size", got)
	}
}

// Of many queues a part of the name finds some, without anybody having to know how the address is written.
func TestFilterOfQueues(t *testing.T) {
	t.Parallel()
	s := newSite(t, "orders", "needle")
	harness.Ask(t, s.direct, "insert into mbus4.queue (qname, consumers_cnt) select 'many_' || n, 1 from generate_series(1, 600) n")
	harness.Ask(t, s.direct, "insert into mbus4.consumer (queue_id, qname, name) select id, qname, 'default' from mbus4.queue where qname like 'many%'")
	b := newBrowser(t, desk)
	b.logIn(s.user, password, s.database)
	b.hasNot("needle\t")
	b.fill("#filter", "EEDL")
	b.press("Show")
	if got := b.nodes("[data-part=queues] tbody tr"); got != 1 {
		t.Errorf("%d queues are shown", got)
	}
	b.has("needle")
	if got := evaluate[string](b, `document.querySelector("#filter").value`); got != "EEDL" {
		t.Errorf("the field has %q", got)
	}
}
