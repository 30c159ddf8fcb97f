package bench

import (
	"bytes"
	"encoding/xml"
	"errors"
	"io"
	"math"
	"strings"
	"testing"
	"time"

	"mbusproxy/internal/cli"
)

func TestPercentile(t *testing.T) {
	t.Parallel()
	var list []time.Duration
	for i := range 100 {
		list = append(list, time.Duration(i+1))
	}
	for _, c := range []struct {
		list []time.Duration
		p    float64
		want time.Duration
	}{{nil, 0.5, 0}, {list[:1], 0.99, 1}, {list, 0.5, 51}, {list, 0.99, 100}, {list, 1, 100}} {
		if got := percentile(c.list, c.p); got != c.want {
			t.Errorf("%d of %d: %d, want %d", int(c.p*100), len(c.list), got, c.want)
		}
	}
}

func TestAxes(t *testing.T) {
	t.Parallel()
	for v, want := range map[float64]float64{0: 1, 0.3: 0.4, 1: 1, 1.1: 2, 950: 1000, 41: 50} {
		if got := ceiling(v); math.Abs(got-want) > 1e-9 {
			t.Errorf("above %v is %v, want %v", v, got, want)
		}
	}
	a := logarithmic([]float64{0, 2, 300})
	if len(a.marks) != 4 || a.at(0) != 0 || a.at(1) != 0 || a.at(1000) != 1 {
		t.Errorf("marks %v", a.marks)
	}
	for _, values := range [][]float64{nil, {0}, {1}, {0.01}, {100}} {
		if a := logarithmic(values); len(a.marks) < 2 || len(a.marks) > 5 || math.IsNaN(a.at(5)) {
			t.Errorf("%v: marks %v", values, a.marks)
		}
	}
}

// report has two seconds of each phase: in the n-th, counted from 1, 100*n messages a second are posted and consumed.
func report() *Report {
	r := &Report{Config: Config{Rate: 100, Consumers: 4, Work: time.Millisecond, Size: 256}}
	for i := range phases() {
		n := int64(i + 1)
		for second := range 2 {
			r.samples = append(r.samples, sample{
				phase: i, length: time.Second, posted: 100 * n, consumed: 100 * n, depth: 20 * int64(1-second), dead: 10 * n, died: 7 * n,
				pickups: []time.Duration{time.Duration(n) * time.Millisecond, 10 * time.Duration(n) * time.Millisecond},
			})
		}
	}
	return r
}

func TestResult(t *testing.T) {
	t.Parallel()
	var b bytes.Buffer
	if err := (cli.Out{W: &b, Format: cli.CSV}).Write(report().Result()); err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(b.String(), "\n")
	want := map[int]string{
		0: "phase,seconds,posted_per_second,consumed_per_second,p50_ms,p99_ms,depth,max_depth,dead_rows,dead_rows_per_second,recovered_after_seconds",
		1: "clean,2.0,100.0,100.0,10.00,10.00,0,20,10,7.0,",
		6: "recovery,2.0,600.0,600.0,60.00,60.00,0,20,60,42.0,2.0",
	}
	for i, line := range want {
		if len(lines) != 8 || lines[i] != line {
			t.Errorf("line %d of\n%s", i, &b)
		}
	}
}

// TestSVG: the picture is valid XML with a title, a line for each series, and the figures of the
// table; also where nothing was measured.
func TestSVG(t *testing.T) {
	t.Parallel()
	for name, r := range map[string]*Report{"whole": report(), "empty": {}} {
		var b bytes.Buffer
		if err := r.SVG(&b); err != nil {
			t.Fatal(err)
		}
		text := b.String()
		elements := map[string]int{}
		var content strings.Builder
		for d := xml.NewDecoder(&b); ; {
			token, err := d.Token()
			if errors.Is(err, io.EOF) {
				break
			}
			if err != nil {
				t.Fatalf("%s: %v", name, err)
			}
			switch token := token.(type) {
			case xml.StartElement:
				elements[token.Name.Local]++
			case xml.CharData:
				content.Write(token)
				content.WriteByte(' ')
			}
		}
		if elements["svg"] != 1 || elements["title"] != 1 || elements["desc"] != 1 || elements["polyline"] != 6 || strings.Contains(text, "NaN") || strings.Contains(text, "Inf") {
			t.Errorf("%s: %v in\n%s", name, elements, text)
		}
		if !strings.Contains(text, "prefers-color-scheme: dark") {
			t.Errorf("%s: it knows no dark", name)
		}
		if name == "whole" {
			for _, want := range []string{"held xmin", "600.0", "60.00", "mbusproxy bench: 100 messages a second, 4 consumers, 1ms of work, 256 bytes"} {
				if !strings.Contains(content.String(), want) {
					t.Errorf("no %q in %s", want, &content)
				}
			}
		}
	}
}
