package sqlfuncs

import (
	"fmt"
	"testing"
)

func TestLookup(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]string{
		"post":                   "post []",
		"POST_Q":                 "post_<q> [[q]]",
		"post_temp":              "post_temp []",
		"post_dmq":               "post_<q> [[dmq]]",
		"run_q":                  "run_<q> [[q]]",
		"consume_dmq":            "consume_dmq [[dmq default]]",
		"CONSUME_TEMP":           "consume_temp [[default]]",
		"consume_dmq_by_c":       "consume_<q>_by_<c> [[dmq c]]",
		"run_on_q":               "run_on_<q> [[q]]",
		"run_on_on_q":            "run_on_<q> [[on_q]]",
		"run_on_":                "run_<q> [[on_]]",
		"clear_queue_q":          "clear_queue_<q> [[q]]",
		"consume_a_by_b_by_c":    "consume_<q>_by_<c> [[a b_by_c] [a_by_b c]]",
		"create_view_prop":       "create_view_prop []",
		"create_temporary_queue": "create_temporary_queue []",
		"consume_a":              "",
		"run_":                   "",
		"clear_queue":            "",
		"run_on":                 "run_<q> [[on]]",
	} {
		got := ""
		if m, ok := Lookup(name); ok {
			got = fmt.Sprintf("%s %v", m.Func.Name, m.Readings)
		}
		if got != want {
			t.Errorf("%s is %q, want %q", name, got, want)
		}
	}
}

// TestCatalogue holds the entries to what the other packages rely on.
func TestCatalogue(t *testing.T) {
	t.Parallel()
	for _, f := range All() {
		names := map[string]bool{}
		for i, p := range f.Params {
			names[p.Name] = true
			if i < f.Implied && p.Optional {
				t.Errorf("%s: %s is implied and optional", f.Name, p.Name)
			}
			if i > 0 && f.Params[i-1].Optional && !p.Optional {
				t.Errorf("%s: %s must be given behind one that need not", f.Name, p.Name)
			}
		}
		if f.Pattern == "" && len(f.Implies) != f.Implied {
			t.Errorf("%s implies %d values for %d parameters", f.Name, len(f.Implies), f.Implied)
		}
		if f.Selector != "" && !names[f.Selector] {
			t.Errorf("%s has no parameter %s", f.Name, f.Selector)
		}
		if f.EitherOrder && (f.Implied > 0 || len(f.Params) < 2 || f.Params[1].Optional) {
			t.Errorf("%s takes either order of what is not there", f.Name)
		}
		for _, p := range f.Params {
			if p.Instead != "" && (!p.Optional || !names[p.Instead]) {
				t.Errorf("%s has %s instead of %s", f.Name, p.Instead, p.Name)
			}
		}
		if f.Amount != "" && !names[f.Amount] {
			t.Errorf("%s has no parameter %s", f.Name, f.Amount)
		}
		if f.Prelude && f.Effect != Native {
			t.Errorf("%s is a step and not Native", f.Name)
		}
	}
}

func TestSignature(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]string{
		"create_trigger": "mbus4.create_trigger(src text, dst text, selector text default null) returns void",
		"dyn_consume":    "mbus4.dyn_consume(qname text, selector text default '(1=1)', cname text default 'default', wait interval default null) returns setof mbus4.qt_model",
		"run_on_q":       "mbus4.run_on_q(exec text) returns integer",
		"post_temp": "mbus4.post_temp(tqname text, data hstore default null, headers hstore default null, properties hstore default null, " +
			"delayed_until timestamp without time zone default null, expires timestamp without time zone default null, iid text default null, unique_key text default null, unique_for interval default null, payload jsonb default null) returns text",
	} {
		m, ok := Lookup(name)
		if got := m.Func.Signature(name); !ok || got != want {
			t.Errorf("got %s, want %s", got, want)
		}
	}
}

func TestQuoteLiteral(t *testing.T) {
	t.Parallel()
	for s, want := range map[string]string{
		"":           `''`,
		"it's":       `'it''s'`,
		`a\'b`:       `$m$a\'b$m$`,
		`a\$m$b`:     `$m1_$a\$m$b$m1_$`,
		`\$m`:        `$m1_$\$m$m1_$`,
		`\$m1_ $m2_`: `$m3_$\$m1_ $m2_$m3_$`,
		`\$`:         `$m$\$$m$`,
	} {
		if got := QuoteLiteral(s); got != want {
			t.Errorf("%q gives %s, want %s", s, got, want)
		}
	}
}
