// Package circles finds messages that wait for one another by consume_after, and so forever. Only
// iids generated beforehand make that possible; mbus4.take(iid) of one of them ends it.
//
// Who waits for whom is read by one plain statement, [Edges], in the session of whoever asks, and
// searched here. The package opens no connection.
package circles

import (
	"cmp"
	"slices"
	"strings"
)

// Settings are to be sent before [Edges], in the same transaction. They leave the planner no choice
// but hashes, and the index of the messages that wait: whatever else is in the table, or was
// counted of it, does not matter.
const Settings = `set local enable_seqscan = off; set local enable_bitmapscan = off; set local enable_nestloop = off; set local jit = off`

// Edges reads which messages that are there wait for which others that are there, as two texts a
// row: the iid of one that waits, and the iid of one that it waits for. It asks for the rights of
// mbus4_user, and costs as much as messages wait.
const Edges = `with waits as materialized (
	select m.iid, m.after
	from mbus4.message m
	where m.after is not null and m.iid is not null and (m.expires is null or m.expires operator(pg_catalog.>) pg_catalog.clock_timestamp())
		and (select 1 from mbus4.consumer c where c.id operator(pg_catalog.=) m.consumer_id) operator(pg_catalog.=) 1
	order by m.id
), named as materialized (
	select w.iid from waits w group by w.iid
)
select distinct w.iid, d.iid
from waits w
cross join pg_catalog.unnest(w.after) d (iid)
join named n on n.iid operator(pg_catalog.=) d.iid`

// Edge says that a message waits for another. Both are iids.
type Edge struct{ Of, For string }

// Circle is a message that is in circles, with a way by which it comes back to itself.
type Circle struct {
	IID string
	// Path begins and ends with IID. It is one of the shortest, unless Cut.
	Path []string
	// Cut says that the way was too long to be searched: Path has its first step and its end.
	Cut bool
}

// A way may be as long as there are messages in the circle, for each of them. So the search for one
// looks at some edges only, and at fewer where many messages are in circles.
const (
	mostSteps     = 1000       // edges that one search looks at
	fewestSteps   = 10         // that one may look at however many searches there are
	mostStepsEver = 10_000_000 // that all together do, unless fewestSteps is more
)

// Find gives the messages that are in circles, by iid, byte by byte. It takes time and memory in
// proportion to the edges, of which it sorts the slice, and at most ten million steps more.
func Find(edges []Edge) []Circle {
	g := build(edges)
	part := g.components()
	inner := g.within(part)
	circular := 0
	for n := range inner.deps {
		if len(inner.deps[n]) > 0 {
			circular++
		}
	}
	most := max(fewestSteps, min(mostSteps, mostStepsEver/max(circular, 1)))
	found := make([]Circle, 0, circular)
	s := search{graph: inner, came: make([]int, len(inner.deps)), sought: make([]int, len(inner.deps))}
	for n := range inner.deps {
		if len(inner.deps[n]) > 0 {
			found = append(found, s.wayBack(n, most))
		}
	}
	return found
}

// graph is who waits for whom. Messages have numbers, in the order of their iids.
type graph struct {
	iids []string
	deps [][]int
}

func build(edges []Edge) graph {
	slices.SortFunc(edges, func(a, b Edge) int { return cmp.Or(cmp.Compare(a.Of, b.Of), cmp.Compare(a.For, b.For)) })
	edges = slices.Compact(edges)
	var g graph
	number := map[string]int{}
	for _, e := range edges { // whoever waits for nobody is in no circle, and has no number
		if len(g.iids) == 0 || g.iids[len(g.iids)-1] != e.Of {
			number[e.Of] = len(g.iids)
			g.iids = append(g.iids, e.Of)
		}
	}
	g.deps = make([][]int, len(g.iids))
	for _, e := range edges {
		if dep, waits := number[e.For]; waits {
			of := number[e.Of]
			g.deps[of] = append(g.deps[of], dep)
		}
	}
	return g
}

// components gives each message the number of its strongly connected component. A circle lies
// within one. It is Tarjan's search in depth, with a stack of its own instead of calls, since a
// chain may be as long as there are messages.
func (g graph) components() (part []int) {
	n := len(g.deps)
	part = make([]int, n)
	met := make([]int, n)  // when the search came to a message; 0: not yet
	low := make([]int, n)  // the earliest that a message reaches, of those whose components are open
	next := make([]int, n) // where among its dependencies the search goes on
	var way, open []int    // from where the search began to where it is; whose components are open
	clock := 0
	for i := range part {
		part[i] = -1
	}
	enter := func(v int) {
		clock++
		met[v], low[v] = clock, clock
		way, open = append(way, v), append(open, v)
	}
	for start := range n {
		if met[start] > 0 {
			continue
		}
		enter(start)
		for len(way) > 0 {
			here := way[len(way)-1]
			if next[here] < len(g.deps[here]) {
				there := g.deps[here][next[here]]
				next[here]++
				switch {
				case met[there] == 0:
					enter(there)
				case part[there] < 0:
					low[here] = min(low[here], met[there])
				}
				continue
			}
			way = way[:len(way)-1]
			if len(way) > 0 {
				before := way[len(way)-1]
				low[before] = min(low[before], low[here])
			}
			if low[here] < met[here] {
				continue
			}
			for part[here] < 0 {
				part[open[len(open)-1]] = here
				open = open[:len(open)-1]
			}
		}
	}
	return part
}

// within leaves the dependencies inside a component: each of them is a step of a circle.
func (g graph) within(part []int) graph {
	for v, deps := range g.deps {
		g.deps[v] = slices.DeleteFunc(deps, func(dep int) bool { return part[dep] != part[v] })
	}
	return g
}

// search looks in breadth for ways back.
type search struct {
	graph
	came   []int // from where the last search came to a message
	sought []int // for whom that was, counted from 1
	next   []int
}

func (s *search) wayBack(start, most int) Circle {
	iid := s.iids[start]
	s.next = append(s.next[:0], start)
	for i := 0; i < len(s.next) && most > 0; i++ {
		here := s.next[i]
		for _, there := range s.deps[here] {
			if there == start {
				return Circle{IID: iid, Path: s.path(start, here)}
			}
			if s.sought[there] != start+1 {
				s.sought[there], s.came[there] = start+1, here
				s.next = append(s.next, there)
			}
			if most--; most == 0 {
				break
			}
		}
	}
	return Circle{IID: iid, Path: []string{iid, s.iids[s.deps[start][0]], iid}, Cut: true}
}

// path is the way that came to last, and from there to start.
func (s *search) path(start, last int) []string {
	path := []string{s.iids[start]}
	for at := last; at != start; at = s.came[at] {
		path = append(path, s.iids[at])
	}
	path = append(path, s.iids[start])
	slices.Reverse(path)
	return path
}

// Way is the path for a reader: a -> b -> a, with … for what was cut.
func (c Circle) Way() string {
	if c.Cut {
		return strings.Join([]string{c.Path[0], c.Path[1], "…", c.Path[2]}, " -> ")
	}
	return strings.Join(c.Path, " -> ")
}
