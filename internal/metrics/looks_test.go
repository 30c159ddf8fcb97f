package metrics

import (
	"context"
	"errors"
	"testing"
	"time"
)

// TestLooks has looks that take 50 ms, by a clock of its own, asked for each 5 s for an hour: they
// take less than 1 % of it. Quick ones are never older than the time between.
func TestLooks(t *testing.T) {
	now := time.Unix(0, 0)
	l := looks[int]{now: func() time.Time { return now }}
	spent, n, takes := time.Duration(0), 0, 50*time.Millisecond
	see := func(context.Context) (int, error) {
		now = now.Add(takes)
		spent += takes
		n++
		return n, nil
	}
	ask := func(database string) int {
		t.Helper()
		v, err := l.get(t.Context(), database, see)
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
	for began := now; now.Sub(began) < time.Hour; now = now.Add(5 * time.Second) {
		if v := ask("large"); v != n {
			t.Fatalf("look %d is shown after %d", v, n)
		}
	}
	if spent > 36*time.Second || n < 300 {
		t.Errorf("%d looks took %v", n, spent)
	}
	takes = 2 * time.Millisecond
	for range 10 {
		before := n
		if ask("small"); n != before+1 {
			t.Error("a quick look was not taken again")
		}
		now = now.Add(time.Second)
	}
}

// TestLooksFail does not keep what has failed, nor what is gone.
func TestLooksFail(t *testing.T) {
	l := looks[string]{now: time.Now}
	failure := errors.New("away")
	if _, err := l.get(t.Context(), "d", func(context.Context) (string, error) { return "", failure }); !errors.Is(err, failure) {
		t.Fatal(err)
	}
	v, err := l.get(t.Context(), "d", func(context.Context) (string, error) { return "there", nil })
	if err != nil || v != "there" {
		t.Fatal(v, err)
	}
	l.keep(map[string]bool{"e": true})
	if len(l.seen) != 0 {
		t.Error("a database that is gone is kept")
	}
}

// TestLooksWithoutTime: where there is no time to look, what was seen last is shown, if there is such.
func TestLooksWithoutTime(t *testing.T) {
	l := looks[string]{now: time.Now}
	ended, end := context.WithCancel(t.Context())
	end()
	see := func(ctx context.Context) (string, error) { return "seen", ctx.Err() }
	if _, err := l.get(ended, "d", see); err == nil {
		t.Error("something was seen")
	}
	for _, ctx := range []context.Context{t.Context(), ended} {
		if v, err := l.get(ctx, "d", see); v != "seen" || err != nil {
			t.Errorf("%q, %v", v, err)
		}
		l.seen["d"].until = time.Time{}
	}
}
