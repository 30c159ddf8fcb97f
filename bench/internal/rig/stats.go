package rig

import (
	"fmt"
	"slices"
)

// confidence is that of the intervals.
const confidence = 0.95

// Median is 0 for no values.
func Median(values []float64) float64 {
	if len(values) == 0 {
		return 0
	}
	v := slices.Sorted(slices.Values(values))
	if n := len(v); n%2 == 0 {
		return (v[n/2-1] + v[n/2]) / 2
	}
	return v[len(v)/2]
}

// Interval is the distribution-free confidence interval of the median, from order statistics: of n
// sorted values the k-th lowest and the k-th highest, with the greatest k for which they enclose
// the median with the confidence wanted. Each value lies below the median with probability 1/2, so
// that fails with probability 2·P(Binomial(n, 1/2) < k), whatever the distribution is. It needs six
// values; for fewer it gives the extremes, and false.
func Interval(values []float64) (low, high float64, enough bool) {
	n := len(values)
	if n == 0 {
		return 0, 0, false
	}
	k, below, term := 0, 0.0, 1.0
	for range n {
		term /= 2 // P(Binomial = 0)
	}
	for {
		below += term // P(Binomial <= k)
		if 2*below > 1-confidence {
			break
		}
		term *= float64(n-k) / float64(k+1)
		k++
	}
	v := slices.Sorted(slices.Values(values))
	return v[max(k-1, 0)], v[n-max(k, 1)], k > 0
}

// Spread shows the median with its interval.
func Spread(v []float64) string {
	if len(v) == 0 {
		return "-"
	}
	if len(v) == 1 {
		return fmt.Sprintf("%.2f", v[0])
	}
	low, high, _ := Interval(v)
	return fmt.Sprintf("%.2f (%.2f to %.2f)", Median(v), low, high)
}

// Mean is 0 for no values.
func Mean(values []float64) float64 {
	if len(values) == 0 {
		return 0
	}
	var sum float64
	for _, v := range values {
		sum += v
	}
	return sum / float64(len(values))
}
