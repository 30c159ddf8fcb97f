package rig

import (
	"math/rand/v2"
	"slices"
	"testing"
)

func TestMedian(t *testing.T) {
	for _, c := range []struct {
		values []float64
		want   float64
	}{{nil, 0}, {[]float64{3}, 3}, {[]float64{3, 1, 2}, 2}, {[]float64{4, 1, 3, 2}, 2.5}} {
		if got := Median(c.values); got != c.want {
			t.Errorf("Median(%v) = %v, want %v", c.values, got, c.want)
		}
	}
}

// The ranks are those of the tables of the sign test, 5 % on both sides together.
func TestInterval(t *testing.T) {
	for n, rank := range map[int]int{1: 0, 5: 0, 6: 1, 7: 1, 8: 1, 9: 2, 12: 3, 15: 4, 20: 6, 25: 8, 50: 18} {
		values := make([]float64, n)
		for i := range values {
			values[i] = float64((i*7)%n + 1) // a permutation: 7 divides none of the sizes but its own
		}
		if n == 7 {
			values = []float64{3, 1, 7, 2, 6, 5, 4}
		}
		low, high, enough := Interval(values)
		wantLow, wantHigh := float64(max(rank, 1)), float64(n+1-max(rank, 1))
		if low != wantLow || high != wantHigh || enough != (rank > 0) {
			t.Errorf("interval of 1 to %d: %v, %v, %v; want %v, %v, %v", n, low, high, enough, wantLow, wantHigh, rank > 0)
		}
	}
	if low, high, enough := Interval(nil); low != 0 || high != 0 || enough {
		t.Errorf("interval of nothing: %v, %v, %v", low, high, enough)
	}
}

// Whatever the distribution, the interval holds the median at least as often as it says, and not nearly always.
func TestIntervalHoldsTheMedian(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	const runs = 20000
	for name, draw := range map[string]func() float64{
		"even":   random.Float64,                                                               // median 0.5
		"skewed": func() float64 { x := random.Float64(); return 0.5 * (x / 0.5) * (x / 0.5) }, // median 0.5
	} {
		held := 0
		for range runs {
			values := make([]float64, 15)
			for i := range values {
				values[i] = draw()
			}
			if low, high, _ := Interval(values); low <= 0.5 && 0.5 <= high {
				held++
			}
		}
		if share := float64(held) / runs; share < 0.955 || share > 0.975 { // 0.9648 for 15 values
			t.Errorf("%s: holds the median in %.4f of the cases", name, share)
		}
	}
}

func TestSpread(t *testing.T) {
	values := []float64{1, 1, 1, 4, 5, 6, 7, 8, 9, 10, 11, 12, 20, 20, 20}
	slices.Reverse(values)
	for want, v := range map[string][]float64{"-": nil, "0.50": {0.5}, "8.00 (4.00 to 12.00)": values, "2.00 (1.00 to 3.00)": {3, 2, 1}} {
		if got := Spread(v); got != want {
			t.Errorf("Spread(%v) = %q, want %q", v, got, want)
		}
	}
}
