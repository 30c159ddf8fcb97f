package cli

import (
	"bytes"
	"strings"
	"testing"
	"time"
)

// TestProgress: what is done within a second says nothing; afterwards a terminal has a bar, which
// goes away, and everything else a line every five seconds.
func TestProgress(t *testing.T) {
	t.Parallel()
	var b bytes.Buffer
	p := NewProgress(&b, false, "posted", 100)
	p.Add(10)
	p.Done()
	if b.Len() > 0 {
		t.Errorf("at once: %q", &b)
	}
	later := func(d time.Duration) {
		p.began, p.said = p.began.Add(-d), p.said.Add(-d)
	}
	later(2 * time.Second)
	p.Add(10)
	p.Add(10)
	later(5 * time.Second)
	p.Add(10)
	p.Done()
	if b.String() != "posted: 20 of 100\nposted: 40 of 100\n" {
		t.Errorf("lines: %q", &b)
	}
	b.Reset()
	p = NewProgress(&b, false, "posted", -1)
	later(2 * time.Second)
	p.Add(7)
	if b.String() != "posted: 7\n" {
		t.Errorf("of how many is not known: %q", &b)
	}
	b.Reset()
	p = NewProgress(&b, true, "posted", 100)
	later(2 * time.Second)
	p.Add(30)
	p.Done()
	if !strings.Contains(b.String(), "posted") || !strings.Contains(b.String(), "30") || !strings.HasSuffix(b.String(), "\r") {
		t.Errorf("a bar: %q", &b)
	}
}
