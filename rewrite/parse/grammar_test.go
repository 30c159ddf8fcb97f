package parse

import (
	"container/heap"
	"go/build"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

// grammar is the one that libpg_query was made from, read from the tables of the parser itself
// (src_backend_parser_gram.c), so that no rule can be missing.
type grammar struct {
	names []string // of symbols; the first are terminals
	terms int      // how many are terminals
	rules []rule
	least [][]string // the shortest text of each symbol, in tokens; nil: none
}

type rule struct {
	left  int
	right []int
}

// unwritten are tokens that no text holds: those that choose what is parsed, and comments.
var unwritten = regexp.MustCompile(`^(MODE_.*|SQL_COMMENT|C_COMMENT|\$.*|error|LEX_ERROR|WHITESPACE)$`)

// written are the tokens that are no keywords and no characters.
var written = map[string]string{
	"IDENT": "a", "UIDENT": `U&"a"`, "FCONST": "1.5", "SCONST": "'s'", "USCONST": "U&'s'", "BCONST": "B'1'", "XCONST": "X'1'",
	"Op": "||", "ICONST": "1", "PARAM": "$1", "TYPECAST": "::", "DOT_DOT": "..", "COLON_EQUALS": ":=", "EQUALS_GREATER": "=>",
	"LESS_EQUALS": "<=", "GREATER_EQUALS": ">=", "NOT_EQUALS": "<>",
}

// readGrammar reads the tables in the source of the module.
func readGrammar(t testing.TB) *grammar {
	t.Helper()
	pkg, err := build.Import("github.com/pganalyze/pg_query_go/v6/parser", ".", build.FindOnly)
	if err != nil {
		t.Fatal(err)
	}
	b, err := os.ReadFile(filepath.Join(pkg.Dir, "src_backend_parser_gram.c"))
	if err != nil {
		t.Fatal(err)
	}
	source := string(b)
	table := func(name string) string {
		_, rest, ok := strings.Cut(source, " "+name+"[] =\n{")
		if !ok {
			t.Fatalf("no table %s", name)
		}
		body, _, _ := strings.Cut(rest, "};")
		return body
	}
	numbers := func(name string) (out []int) {
		for _, f := range strings.FieldsFunc(table(name), func(c rune) bool { return c == ',' || c == ' ' || c == '\n' }) {
			n, err := strconv.Atoi(f)
			if err != nil {
				t.Fatal(err)
			}
			out = append(out, n)
		}
		return out
	}
	g := &grammar{}
	for _, q := range regexp.MustCompile(`"(\\.|[^"\\])*"`).FindAllString(table("yytname"), -1) {
		name, err := strconv.Unquote(q)
		if err != nil {
			t.Fatal(err)
		}
		g.names = append(g.names, name)
	}
	m := regexp.MustCompile(`#define YYNTOKENS +(\d+)`).FindStringSubmatch(source)
	g.terms, _ = strconv.Atoi(m[1])
	right := numbers("yyrhs")
	starts, left := numbers("yyprhs"), numbers("yyr1")
	for i := 1; i < len(left); i++ { // there is no rule 0
		r := rule{left: left[i]}
		for at := starts[i]; right[at] >= 0; at++ {
			r.right = append(r.right, right[at])
		}
		g.rules = append(g.rules, r)
	}
	g.shortest()
	return g
}

// terminal returns how a token is written.
func (g *grammar) terminal(symbol int) (string, bool) {
	name := g.names[symbol]
	if w, ok := written[name]; ok {
		return w, true
	}
	if strings.HasPrefix(name, "'") {
		return strings.Trim(name, "'"), true
	}
	if unwritten.MatchString(name) {
		return "", false
	}
	name = strings.TrimSuffix(strings.TrimSuffix(name, "_LA"), "_P")
	return strings.ToLower(name), true
}

// shortest finds the shortest text of each symbol.
func (g *grammar) shortest() {
	g.least = make([][]string, len(g.names))
	for s := range g.terms {
		if w, ok := g.terminal(s); ok {
			g.least[s] = []string{w}
		}
	}
	for changed := true; changed; {
		changed = false
		for _, r := range g.rules {
			if text, ok := g.write(r.right); ok && (g.least[r.left] == nil || len(text) < len(g.least[r.left])) {
				g.least[r.left], changed = text, true
			}
		}
	}
}

// write returns the shortest text of symbols one after another.
func (g *grammar) write(symbols []int) ([]string, bool) {
	text := []string{}
	for _, s := range symbols {
		if g.least[s] == nil {
			return nil, false
		}
		text = append(text, g.least[s]...)
	}
	return text, true
}

// around is what stands before and behind a symbol.
type around struct {
	before, behind []string
	ok             bool
}

func (a around) within(outer around) around {
	return around{append(append([]string{}, outer.before...), a.before...), append(append([]string{}, a.behind...), outer.behind...), a.ok && outer.ok}
}

func (a around) size() int { return len(a.before) + len(a.behind) }

// step is a symbol on the right side of a rule.
type step struct {
	rule, at int
}

// around returns what the rule puts around the symbol.
func (g *grammar) around(s step) around {
	r := g.rules[s.rule]
	before, ok := g.write(r.right[:s.at])
	behind, ok2 := g.write(r.right[s.at+1:])
	return around{before, behind, ok && ok2}
}

// reach returns the shortest that stands around each symbol in what is made of one.
func (g *grammar) reach(from int, steps map[int][]step) []around {
	found := make([]around, len(g.names))
	q := &queue{{symbol: from, around: around{ok: true}}}
	for q.Len() > 0 {
		next := heap.Pop(q).(queued)
		if found[next.symbol].ok {
			continue
		}
		found[next.symbol] = next.around
		for _, s := range steps[next.symbol] {
			if a := g.around(s); a.ok && !found[g.rules[s.rule].right[s.at]].ok {
				heap.Push(q, queued{g.rules[s.rule].right[s.at], a.within(next.around)})
			}
		}
	}
	return found
}

type queued struct {
	symbol int
	around
}

type queue []queued

func (q queue) Len() int           { return len(q) }
func (q queue) Less(i, j int) bool { return q[i].size() < q[j].size() }
func (q queue) Swap(i, j int)      { q[i], q[j] = q[j], q[i] }
func (q *queue) Push(x any)        { *q = append(*q, x.(queued)) }
func (q *queue) Pop() any {
	last := (*q)[len(*q)-1]
	*q = (*q)[:len(*q)-1]
	return last
}

// chain is a way from a symbol back to itself, and how to get there.
type chain struct {
	symbol       int // what goes round
	name         string
	outer, cycle around
	seed         []string
	inner        int  // of a separator: what stands behind it
	composed     bool // with a separator
}

// separates are places at which the meter begins anew.
var separates = map[string]bool{
	"a_expr: a_expr AND >a_expr": true, "expr_list: expr_list ',' >a_expr": true,
	"target_list: target_list ',' >target_el": true, "from_list: from_list ',' >table_ref": true,
}

// text returns the chain with so many rounds.
func (c *chain) text(rounds int) string {
	before, behind := strings.Join(c.cycle.before, " ")+" ", " "+strings.Join(c.cycle.behind, " ")
	return strings.Join(c.outer.before, " ") + " " + strings.Repeat(before, rounds) + strings.Join(c.seed, " ") +
		strings.Repeat(behind, rounds) + " " + strings.Join(c.outer.behind, " ")
}

// chains returns the shortest chain through every symbol on the right side of every rule that leads back
// to the rule's own, and each of so many with what separates in it.
func (g *grammar) chains(every int) (out []*chain) {
	steps := map[int][]step{} // by the left side
	for i, r := range g.rules {
		for at, s := range r.right {
			if s >= g.terms {
				steps[r.left] = append(steps[r.left], step{i, at})
			}
		}
	}
	start := 0
	for s, name := range g.names {
		if name == "parse_toplevel" {
			start = s
		}
	}
	outer := g.reach(start, steps)
	back := map[int][]around{}
	// What separates: the level behind it counts from zero again, so these rounds have more levels for their depth.
	var separators []chain
	for i, r := range g.rules {
		for at, x := range r.right {
			if a := g.around(step{i, at}); a.ok && separates[g.describe(step{i, at})] {
				separators = append(separators, chain{symbol: r.left, outer: around{ok: true}, cycle: a, name: g.describe(step{i, at}), inner: x})
			}
		}
	}
	for i, r := range g.rules {
		for at, s := range r.right {
			if s < g.terms || !outer[r.left].ok {
				continue
			}
			a := g.around(step{i, at})
			if back[s] == nil {
				back[s] = g.reach(s, steps)
			}
			if b := back[s][r.left]; a.ok && b.ok {
				c := &chain{symbol: r.left, name: g.describe(step{i, at}), outer: outer[r.left], cycle: b.within(a), seed: g.least[r.left]}
				if out = append(out, c); len(out)%every != 0 {
					continue
				}
				for _, sep := range separators {
					for _, y := range []int{sep.symbol, sep.inner} {
						if back[y] == nil {
							back[y] = g.reach(y, steps)
						}
					}
					if back[r.left] == nil {
						back[r.left] = g.reach(r.left, steps)
					}
					to, from := back[r.left][sep.symbol], back[sep.inner][r.left]
					if !to.ok || !from.ok {
						continue
					}
					more := *c
					more.name += " with " + sep.name
					more.cycle = from.within(sep.cycle.within(to.within(c.cycle)))
					more.composed = true
					out = append(out, &more)
				}
			}
		}
	}
	return out
}

// describe shows a rule with the place of a symbol.
func (g *grammar) describe(s step) string {
	r := g.rules[s.rule]
	text := g.names[r.left] + ":"
	for i, x := range r.right {
		if i == s.at {
			text += " >" + g.names[x]
		} else {
			text += " " + g.names[x]
		}
	}
	return text
}
