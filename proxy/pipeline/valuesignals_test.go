package pipeline

import (
	"fmt"
	"testing"

	"github.com/jackc/pgx/v5/pgproto3"

	"mbusproxy/proxy/pipeline/refuse"
	"mbusproxy/proxy/statements"
	"mbusproxy/proxy/wire"
)

// bound is a plan whose signals are the first bytes of the values of parameters.
type bound struct {
	statements.Plan
	parameters []int
}

func (b bound) ValueSignals() statements.ValueSignals {
	if b.parameters == nil {
		return nil
	}
	return b
}
func (b bound) Parameters() []int { return b.parameters }
func (b bound) Of(v wire.Value) statements.Signals {
	if v.Null {
		return 0
	}
	return statements.Signals(v.Bytes[0])
}

// What values mean is known while it is certain which statement a name stands for, and that they are texts.
func TestSignalsOfValues(t *testing.T) {
	t.Parallel()
	const all = statements.AllSignals
	plan := func(parameters ...int) statements.Plan { return bound{refuse.Canceled(), parameters} }
	types := func(oids ...uint32) []byte {
		frame, err := (&pgproto3.Parse{ParameterOIDs: oids}).Encode(nil)
		if err != nil {
			t.Fatal(err)
		}
		return frame[wire.HeaderSize+2:]
	}
	bind := func(name string, values ...string) []byte {
		m := pgproto3.Bind{PreparedStatement: name}
		for _, v := range values {
			m.Parameters = append(m.Parameters, []byte(v))
		}
		frame, err := m.Encode(nil)
		if err != nil {
			t.Fatal(err)
		}
		return frame
	}
	type step struct {
		parse  string // a name
		plan   statements.Plan
		types  []byte
		bind   string
		values []string
		cut    int // bytes of the Bind that are there
		want   statements.Signals
	}
	for name, steps := range map[string][]step{
		"one":                   {{parse: "s", plan: plan(2), bind: "s", values: []string{"\x01", "\x02"}, want: 2}},
		"two":                   {{parse: "s", plan: plan(1, 2), bind: "s", values: []string{"\x01", "\x02"}, want: 3}},
		"none":                  {{parse: "s", plan: plan(), bind: "s", values: []string{"\x01"}, want: 0}},
		"forwarded":             {{parse: "s", plan: nil, bind: "s", values: []string{"\x01"}, want: 0}},
		"another statement":     {{parse: "s", plan: plan(1), bind: "z", values: []string{"\x01"}, want: 0}},
		"too few":               {{parse: "s", plan: plan(2), bind: "s", values: []string{"\x01"}, want: all}},
		"cut off":               {{parse: "s", plan: plan(1), bind: "s", values: []string{"\x01"}, cut: 14, want: all}},
		"text and unspecified":  {{parse: "s", plan: plan(1, 2, 3), types: types(25, 0, 1043), bind: "s", values: []string{"\x01", "\x02", "\x04"}, want: 7}},
		"a number":              {{parse: "s", plan: plan(1), types: types(23), bind: "s", values: []string{"\x01"}, want: all}},
		"another number":        {{parse: "s", plan: plan(1), types: types(25, 23), bind: "s", values: []string{"\x01", "\x02"}, want: 1}},
		"unnamed, another text": {{parse: "", plan: plan(1), bind: "", values: []string{"\x01"}, want: 1}, {parse: "", plan: plan(2), bind: "", values: []string{"\x01", "\x02"}, want: 2}},
		"unnamed, forwarded":    {{parse: "", plan: plan(1), bind: "", values: []string{"\x01"}, want: 1}, {parse: "", plan: nil, bind: "", values: []string{"\x01", "\x02"}, want: 0}},
		"named again, alike":    {{parse: "s", plan: plan(1), bind: "s", values: []string{"\x01"}, want: 1}, {parse: "s", plan: plan(1), bind: "s", values: []string{"\x02"}, want: 2}},
		"named again, another":  {{parse: "s", plan: plan(1), bind: "s", values: []string{"\x01"}, want: 1}, {parse: "s", plan: plan(2), bind: "s", values: []string{"\x01", "\x02"}, want: all}},
		"named again, without":  {{parse: "s", plan: plan(1), bind: "s", values: []string{"\x01"}, want: 1}, {parse: "s", plan: plan(), bind: "s", values: []string{"\x01"}, want: all}},
	} {
		var f ClientFlow
		for i, s := range steps {
			f.noteValueSignals(s.parse, s.plan, s.types)
			frame := bind(s.bind, s.values...)
			if s.cut > 0 {
				frame = frame[:s.cut]
			}
			if got := f.signalsOfValues(s.bind, frame); got != s.want {
				t.Errorf("%s, step %d: got %x, want %x", name, i, got, s.want)
			}
		}
	}
	// Of more statements than are kept nothing is said, but of those that are.
	var f ClientFlow
	for i := range maxValueSignals + 10 {
		f.noteValueSignals(fmt.Sprint(i), plan(1), nil)
	}
	if n := len(f.values.statements); n != maxValueSignals {
		t.Errorf("%d statements are kept", n)
	}
	for name, want := range map[string]statements.Signals{"0": 1, fmt.Sprint(maxValueSignals): all, "z": all} {
		if got := f.signalsOfValues(name, bind(name, "\x01")); got != want {
			t.Errorf("of many, %s: got %x, want %x", name, got, want)
		}
	}
}
