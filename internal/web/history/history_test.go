package history

import (
	"fmt"
	"math"
	"testing"
	"time"
)

func TestRing(t *testing.T) {
	t.Parallel()
	r, now := New(), time.Unix(1e9, 0)
	if !r.Last().IsZero() {
		t.Error("a new one has something")
	}
	for i := range 3 * Kept {
		r.Put(now.Add(time.Duration(i)*Step), map[string]float64{"a": float64(10 * i)})
	}
	end := now.Add((3*Kept - 1) * Step)
	values := r.Values("a", end)
	if len(values) != Kept || values[0] != float64(20*Kept) || values[Kept-1] != float64(10*(3*Kept-1)) {
		t.Errorf("from %v to %v", values[0], values[Kept-1])
	}
	if rates := r.Rates("a", end); !math.IsNaN(rates[0]) || rates[1] != 1 || rates[Kept-1] != 1 {
		t.Errorf("rates %v … %v", rates[:2], rates[Kept-1])
	}
	if v := r.Values("a", end.Add(2*Step)); !math.IsNaN(v[Kept-1]) || math.IsNaN(v[Kept-3]) {
		t.Error("what is not known is told")
	}
	if v := r.Values("b", end); !math.IsNaN(v[0]) {
		t.Error("another series has values")
	}
	if got := r.Last(); !got.Equal(end) {
		t.Errorf("the last is of %v; want %v", got, end)
	}
	// Counting anew is no rate, nor is what was not seen for long.
	r.Put(end.Add(Step), map[string]float64{"a": 5})
	r.Put(end.Add(20*Step), map[string]float64{"a": 500})
	if rates := r.Rates("a", end.Add(20*Step)); !math.IsNaN(rates[Kept-20]) || !math.IsNaN(rates[Kept-1]) {
		t.Errorf("rates %v and %v", rates[Kept-20], rates[Kept-1])
	}
}

func TestRingIsBounded(t *testing.T) {
	t.Parallel()
	r, now := New(), time.Unix(1e9, 0)
	for i := range 4 * mostSeries {
		r.Put(now, map[string]float64{fmt.Sprint(i): 1})
	}
	if len(r.series) != mostSeries {
		t.Errorf("there are %d series", len(r.series))
	}
	r.Put(now.Add(2*time.Hour), map[string]float64{"new": 1})
	if len(r.series) != 1 {
		t.Errorf("after two hours there are %d series", len(r.series))
	}
}
