package tracing

import (
	"encoding/binary"
	"strings"
	"testing"
	"unicode/utf8"

	"go.opentelemetry.io/otel/trace"
)

const parent = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"

// A traceparent is taken in its exact form only.
func TestTraceparent(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		text string
		want string // what is kept; "" for nothing
	}{
		{parent, parent},
		{strings.TrimSuffix(parent, "01") + "00", strings.TrimSuffix(parent, "01") + "00"},
		{strings.TrimSuffix(parent, "01") + "03", parent}, // flags that are not known are not passed on
		{"cc" + parent[2:] + "-what-comes", parent},
		{"cc" + parent[2:], parent},
		{text: ""},
		{text: parent + "-more"},
		{text: parent[:54]},
		{text: "cc" + parent[2:] + "more"},
		{text: "cc" + parent[2:] + "-" + strings.Repeat("x", 500)},
		{text: "ff" + parent[2:]},
		{text: strings.ToUpper(parent)},
		{text: strings.Replace(parent, "4bf9", "4bg9", 1)},
		{text: strings.Replace(parent, "-", "_", 1)},
		{text: "00-" + strings.Repeat("0", 32) + "-00f067aa0ba902b7-01"},
		{text: "00-4bf92f3577b34da6a3ce929d0e0e4736-" + strings.Repeat("0", 16) + "-01"},
		{text: parent[:53] + "0x"},
		{text: parent[:10] + "'\x00" + parent[12:]},
	} {
		sc := FromTags(c.text, "")
		got := ""
		if sc.IsValid() {
			got = headers(sc, sc.SpanID())
		}
		want := c.want
		if want != "" {
			want = `"traceparent"=>"` + want + `"`
		}
		if got != want {
			t.Errorf("%q: got %q, want %q", c.text, got, want)
		}
	}
}

// A tracestate comes with a traceparent, bounded, and never with what would have to be escaped.
func TestTracestate(t *testing.T) {
	t.Parallel()
	for state, want := range map[string]string{
		"congo=t61rcWkgMzE,rojo=00f067": "congo=t61rcWkgMzE,rojo=00f067",
		"a=" + strings.Repeat("x", 200): "a=" + strings.Repeat("x", 200),
		"a=" + strings.Repeat("x", 600): "",
		"a=it's":                        "",
		`a=x"y`:                         "",
		`a=x\y`:                         "",
		"no state":                      "",
		"a=1,a=2":                       "",
		"a=\x00":                        "",
	} {
		sc := FromTags(parent, state)
		if got := sc.TraceState().String(); !sc.IsValid() || got != want {
			t.Errorf("%q: got %q, want %q", state, got, want)
		}
	}
	if sc := FromTags("", "a=b"); sc.IsValid() {
		t.Error("a tracestate alone is a context")
	}
}

// row returns the body of a DataRow.
func row(columns ...string) []byte {
	out := binary.BigEndian.AppendUint16(nil, uint16(len(columns)))
	for _, c := range columns {
		out = binary.BigEndian.AppendUint32(out, uint32(len(c)))
		out = append(out, c...)
	}
	return out
}

func TestFromRow(t *testing.T) {
	t.Parallel()
	binaryHstore := string(binary.BigEndian.AppendUint32(nil, 1)) + "\x00\x00\x00\x0btraceparent\x00\x00\x00\x37" + parent
	for _, c := range []struct {
		name string
		body []byte
		want bool
	}{
		{"text", row("1", `"a"=>"b", "traceparent"=>"`+parent+`"`, "x"), true},
		{"record", row(`(1,,"""a""=>""b"", ""traceparent""=>""` + parent + `""")`), true},
		{"binary", row("1", binaryHstore), true},
		{"alone", row("1", parent), true},
		{"none", row("1", `"a"=>"b"`), false},
		{"wrong", row(`"traceparent"=>"` + strings.ToUpper(parent) + `"`), false},
		{"cut", row(`"traceparent"=>"` + parent[:50]), false},
		{"binary of another length", row("\x00\x00\x00\x0btraceparent\x00\x00\x00\x38" + parent + "x"), false},
		{"empty", nil, false},
		{"cut off", row("1", parent)[:20], false},
		{"null", []byte{0, 1, 0xff, 0xff, 0xff, 0xff}, false},
		{"lying length", []byte{0, 1, 0x7f, 0xff, 0xff, 0xff, 'x'}, false},
	} {
		sc, ok := fromRow(c.body)
		if ok != c.want || ok && sc.SpanID().String() != parent[36:52] {
			t.Errorf("%s: got %v, %v", c.name, sc, ok)
		}
	}
}

func FuzzFromRow(f *testing.F) {
	f.Add(row(parent))
	f.Add(row(`"traceparent"=>"` + parent + `"`))
	f.Fuzz(func(t *testing.T, body []byte) {
		if sc, ok := fromRow(body); ok && !sc.IsValid() {
			t.Fatalf("%q gives %v", body, sc)
		}
		_, _ = onlyText(body)
	})
}

// What a client has chosen stands in a span valid and short.
func TestBounded(t *testing.T) {
	t.Parallel()
	for _, text := range []string{"q", "\xff\xfe", strings.Repeat("é", 300), strings.Repeat("x", 199) + "é", strings.Repeat("\xf0", 300), "a\x00b"} {
		if got := bounded(text); !utf8.ValidString(got) || len(got) > 3*maxName {
			t.Errorf("%q is %q", text, got)
		}
	}
	if got := bounded(strings.Repeat("x", 199) + "é"); got != strings.Repeat("x", 199) {
		t.Errorf("cut inside a character: %q", got)
	}
}

func TestSampler(t *testing.T) {
	sampled, _ := parseTraceparent(parent)
	not := sampled.WithTraceFlags(0)
	for _, c := range []struct {
		name, arg, want           string
		root, ofSampled, ofOthers bool // what becomes of a trace that begins here, and of the children of others
	}{
		{"", "", "AlwaysOnSampler", true, true, false},
		{"always_off", "", "AlwaysOffSampler", false, false, false},
		{"Always_On ", "", "AlwaysOnSampler", true, true, true},
		{"traceidratio", "0.25", "TraceIDRatioBased{0.25}", false, false, false},
		{"traceidratio", "0", "TraceIDRatioBased{0}", false, false, false},
		{"parentbased_traceidratio", "0.5", "TraceIDRatioBased{0.5}", false, true, false},
		{"parentbased_always_off", "", "AlwaysOffSampler", false, true, false},
		{name: "traceidratio", arg: "2"},
		{name: "traceidratio", arg: "NaN"},
		{name: "traceidratio", arg: "much"},
		{name: "jaeger_remote"},
	} {
		t.Setenv("OTEL_TRACES_SAMPLER", c.name)
		t.Setenv("OTEL_TRACES_SAMPLER_ARG", c.arg)
		s, err := samplerFromEnvironment()
		if (err == nil) != (c.want != "") {
			t.Errorf("%q, %q: %v", c.name, c.arg, err)
		}
		if err != nil {
			continue
		}
		if got := s.root.Description(); got != c.want {
			t.Errorf("%q, %q: got %s, want %s", c.name, c.arg, got, c.want)
		}
		id := sampled.TraceID() // whose last bytes, which the ratio is taken of, are large
		for i, want := range []bool{c.root, c.ofSampled, c.ofOthers} {
			if got := s.samples([]trace.SpanContext{{}, sampled, not}[i], id); got != want {
				t.Errorf("%q, %q, parent %d: got %v, want %v", c.name, c.arg, i, got, want)
			}
		}
	}
}
