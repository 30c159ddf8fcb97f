package circles_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"testing"

	"mbusproxy/engine/circles"
)

// edges takes apart "a b c": a waits for b and c.
func edges(waits ...string) (out []circles.Edge) {
	for _, w := range waits {
		of, deps, _ := strings.Cut(w, " ")
		for _, dep := range strings.Fields(deps) {
			out = append(out, circles.Edge{Of: of, For: dep})
		}
	}
	return out
}

func ways(found []circles.Circle) string {
	var all []string
	for _, c := range found {
		all = append(all, c.Way())
	}
	return strings.Join(all, ", ")
}

func TestFind(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		waits []string
		want  string
	}{
		"nothing":             {nil, ""},
		"a chain":             {[]string{"a b", "b c", "c d"}, ""},
		"one":                 {[]string{"a a"}, "a -> a"},
		"two":                 {[]string{"b a", "a b"}, "a -> b -> a, b -> a -> b"},
		"twice":               {[]string{"a b", "a b", "b a a"}, "a -> b -> a, b -> a -> b"},
		"three":               {[]string{"a b", "b c", "c a"}, "a -> b -> c -> a, b -> c -> a -> b, c -> a -> b -> c"},
		"with a tail":         {[]string{"x y", "y a", "a b", "b a"}, "a -> b -> a, b -> a -> b"},
		"with a way out":      {[]string{"a b", "b a x", "x y"}, "a -> b -> a, b -> a -> b"},
		"a bridge":            {[]string{"a b", "b a c", "c d", "d e", "e d"}, "a -> b -> a, b -> a -> b, d -> e -> d, e -> d -> e"},
		"two with one common": {[]string{"a b c", "b a", "c d", "d a"}, "a -> b -> a, b -> a -> b, c -> d -> a -> c, d -> a -> c -> d"},
		"the shorter one":     {[]string{"a b", "b c", "c d a", "d a"}, "a -> b -> c -> a, b -> c -> a -> b, c -> a -> b -> c, d -> a -> b -> c -> d"},
		"one within another":  {[]string{"a b", "b c b", "c a"}, "a -> b -> c -> a, b -> b, c -> a -> b -> c"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got := ways(circles.Find(edges(c.waits...))); got != c.want {
				t.Errorf("got %s, want %s", got, c.want)
			}
		})
	}
}

// Against a search that asks of each message alone how far it is to itself.
func TestFindAgainstReach(t *testing.T) {
	t.Parallel()
	random := rand.New(rand.NewPCG(1, 2))
	for round := range 2000 {
		n := 1 + random.IntN(9)
		var given []circles.Edge
		for range random.IntN(2 * n) {
			given = append(given, circles.Edge{Of: strconv.Itoa(random.IntN(n)), For: strconv.Itoa(random.IntN(n))})
		}
		want := map[string]int{}
		for v := range n {
			if steps := stepsBack(given, strconv.Itoa(v)); steps > 0 {
				want[strconv.Itoa(v)] = steps
			}
		}
		found := circles.Find(slices.Clone(given))
		if len(found) != len(want) {
			t.Fatalf("round %d: %v: found %s, want %v", round, given, ways(found), want)
		}
		for _, c := range found {
			if c.Cut || len(c.Path)-1 != want[c.IID] || c.Path[0] != c.IID || c.Path[len(c.Path)-1] != c.IID {
				t.Fatalf("round %d: %v: %s in %v, want %d steps", round, given, c.IID, c.Path, want[c.IID])
			}
			for i := range len(c.Path) - 1 {
				if !slices.Contains(given, circles.Edge{Of: c.Path[i], For: c.Path[i+1]}) {
					t.Fatalf("round %d: %v: no step from %s to %s", round, given, c.Path[i], c.Path[i+1])
				}
			}
		}
	}
}

// stepsBack is the length of the shortest way from a message to itself, 0 where there is none.
func stepsBack(given []circles.Edge, start string) int {
	reached := map[string]bool{start: true}
	for steps := 1; steps <= 10; steps++ {
		next := map[string]bool{}
		for _, e := range given {
			if reached[e.Of] {
				next[e.For] = true
			}
		}
		if next[start] {
			return steps
		}
		reached = next
	}
	return 0
}

// However long a circle is, or however dense, the search ends, and each message in it is found.
func TestFindInMany(t *testing.T) {
	t.Parallel()
	const n = 200_000
	var ring []circles.Edge
	for i := range n {
		ring = append(ring, circles.Edge{Of: fmt.Sprintf("%06d", i), For: fmt.Sprintf("%06d", (i+1)%n)})
	}
	found := circles.Find(ring)
	if len(found) != n || !found[0].Cut || found[0].Way() != "000000 -> 000001 -> … -> 000000" {
		t.Errorf("%d in a ring of %d, the first %+v", len(found), n, found[0])
	}
	var dense []circles.Edge
	for i := range 400 {
		for j := range 400 {
			dense = append(dense, circles.Edge{Of: strconv.Itoa(1000 + i), For: strconv.Itoa(1000 + j)})
		}
	}
	if found := circles.Find(dense); len(found) != 400 || found[399].Way() != "1399 -> 1399" {
		t.Errorf("%d where all wait for all", len(found))
	}
}
