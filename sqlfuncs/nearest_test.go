package sqlfuncs

import (
	"strings"
	"testing"
)

// What a newcomer writes who knows other queues, or cannot spell, and what the hint must show.
func TestUnknown(t *testing.T) {
	t.Parallel()
	for name, says := range map[string]string{
		"send":                   "mbus4.post(",
		"Publish":                "mbus4.post(",
		"enqueue":                "mbus4.post(",
		"send_message":           "mbus4.post(",
		"read":                   "mbus4.consume(",
		"pop":                    "mbus4.consume(",
		"dequeue":                "mbus4.consume(",
		"receive_message":        "mbus4.consume(",
		"get_messages":           "mbus4.consume(",
		"acknowledge":            "mbus4.ack(lease)",
		"delete":                 "nothing to acknowledge",
		"archive":                "nothing to acknowledge",
		"nack":                   "rolls back",
		"subscribe":              "mbus4.create_consumer(",
		"purge":                  "mbus4.clear_queue_<q>()",
		"queue_purge":            "mbus4.purge_queue(qname)",
		"clear_queue":            "mbus4.clear_queue_<q>()",
		"list_queues":            "select * from mbus4.queue ",
		"queue_depth":            "mbus4.estimated_messages(",
		"metrics":                "mbus4.estimated_messages(",
		"create":                 "mbus4.create_queue(",
		"insert_event":           "mbus4.post(",
		"insert_job":             "mbus4.add_message(",
		"consume_dd":             "for queue dd write mbus4.consume_dd_by_default or mbus4.consume('dd')",
		"consumen_dd_by_":        "for queue dd write mbus4.consumen_dd_by_default or mbus4.consumen('dd')",
		"take_from_dd":           "for queue dd write mbus4.take_from_dd_by_default.",
		"take_from":              "mbus4.take_from_<q>_by_<c>",
		"peek_":                  "mbus4.peek_<q>",
		"run_":                   "mbus4.run_<q>",
		"create_que":             "mbus4.create_queue(qname text, ncons integer)",
		"crate_consumer":         "mbus4.create_consumer(",
		"psot":                   "mbus4.post(",
		"cosnume":                "mbus4.consume(",
		"get_next_mesage":        "mbus4.get_next_message(",
		"generate_msgiid":        "mbus4.generate_new_msgiid(",
		"pots_orders":            "mbus4.post_orders(data hstore",
		"cosume_q_by_c":          "mbus4.consume_q_by_c(wait interval",
		"clear_queu_orders":      "mbus4.clear_queue_orders()",
		"execute":                "mbus4.run_on_<q>(exec)",
		"is_message_exists":      "mbus4.is_msg_exists(",
		"release_message":        "mbus4.release_messages(",
		"get_next_messages":      "mbus4.get_next_message(",
		"send_messages":          "mbus4.post(",
		"insert_many":            "mbus4.post(",
		"route":                  "mbus4.create_trigger(",
		"consume_it's":           "mbus4.consume('it''s')",
		"xyzzy":                  "mbus4.readme()",
		"":                       "mbus4.readme()",
		strings.Repeat("x", 9e6): "mbus4.readme()",
	} {
		shown := name[:min(len(name), 20)]
		if _, known := Lookup(name); known {
			t.Errorf("%s is a function", shown)
		}
		if got := Unknown(name); !strings.Contains(got, says) {
			t.Errorf("%s: %q does not say %q", shown, got, says)
		}
	}
}

// A name in the list of foreign ones is none of ours, or nobody would ever see its hint; nor does it stand there twice.
func TestForeignNames(t *testing.T) {
	t.Parallel()
	n := 0
	for _, h := range habits {
		n += len(strings.Fields(h.names))
	}
	if n != len(foreign) {
		t.Errorf("%d names, %d different ones", n, len(foreign))
	}
	for name := range foreign {
		if m, known := Lookup(name); known {
			t.Errorf("%s is %s", name, m.Func.DisplayName())
		}
	}
}

func TestDistance(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		a, b string
		want int
	}{{"", "", 0}, {"post", "post", 0}, {"psot", "post", 1}, {"pos", "post", 1}, {"poost", "post", 1}, {"pest", "post", 1}, {"", "post", 4}, {"take", "peek", 3}} {
		if got := distance(c.a, c.b); got != c.want {
			t.Errorf("%q and %q: %d, want %d", c.a, c.b, got, c.want)
		}
	}
}
