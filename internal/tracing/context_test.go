package tracing

import (
	"encoding/binary"
	"maps"
	"strings"
	"testing"
	"unicode/utf8"
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
		sc := FromTags(maps.All(map[string]string{"traceparent": c.text}))
		got := ""
		if sc.IsValid() {
			got = headers(sc)
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
		sc := FromTags(maps.All(map[string]string{"traceparent": parent, "tracestate": state}))
		if got := sc.TraceState().String(); !sc.IsValid() || got != want {
			t.Errorf("%q: got %q, want %q", state, got, want)
		}
	}
	if sc := FromTags(maps.All(map[string]string{"tracestate": "a=b"})); sc.IsValid() {
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
	for _, c := range []struct{ name, arg, want string }{
		{"", "", "ParentBased{root:AlwaysOnSampler"},
		{"always_off", "", "AlwaysOffSampler"},
		{"Always_On ", "", "AlwaysOnSampler"},
		{"traceidratio", "0.25", "TraceIDRatioBased{0.25}"},
		{"parentbased_traceidratio", "0.5", "ParentBased{root:TraceIDRatioBased{0.5}"},
		{"parentbased_always_off", "", "ParentBased{root:AlwaysOffSampler"},
		{"traceidratio", "2", ""},
		{"traceidratio", "NaN", ""},
		{"traceidratio", "much", ""},
		{"jaeger_remote", "", ""},
	} {
		t.Setenv("OTEL_TRACES_SAMPLER", c.name)
		t.Setenv("OTEL_TRACES_SAMPLER_ARG", c.arg)
		sampler, err := samplerFromEnvironment()
		got := ""
		if err == nil {
			got = sampler.Description()
		}
		if !strings.HasPrefix(got, c.want) || (got == "") != (c.want == "") {
			t.Errorf("%q, %q: got %s, %v, want %s", c.name, c.arg, got, err, c.want)
		}
	}
}
