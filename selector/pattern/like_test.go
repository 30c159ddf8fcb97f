package pattern

import "testing"

// A letter is compared as often as the first letter sought stands in what is sought.
func TestLikeSteps(t *testing.T) {
	t.Parallel()
	for p, want := range map[string]int{
		"": 0, "%": 0, "%%%": 0, "abc": 1, "abca%": 2, "%aaa%": 3, "%aab%aaaa": 4, "%___a": 1, "%a_b_a": 4, `%\%\%\_%`: 2, `%\\\\%`: 2, "%AaA": 3, "ÄäA": 2,
	} {
		if got, refused := CheckLike(p); refused != nil || got != want {
			t.Errorf("%q: %d, %v, not %d", p, got, refused, want)
		}
	}
}
