package parse

import (
	"bufio"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/pganalyze/pg_query_go/v6/parser"

	"mbusproxy/rewrite/lex"
)

// childEnv makes of the test binary the child of a test.
const childEnv = "MBUS_PARSE_CHILD"

// inChild runs the test again in a process of its own, which may crash, and reports whether it is that process.
func inChild(t *testing.T) bool {
	t.Helper()
	if os.Getenv(childEnv) != "" {
		return true
	}
	cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.run", "^"+t.Name()+"$", "-test.v")
	note := filepath.Join(t.TempDir(), "note") // where the child writes what it is about to do
	cmd.Env = append(os.Environ(), childEnv+"="+note)
	out, err := cmd.CombinedOutput()
	if err != nil {
		last, _ := os.ReadFile(note)
		t.Fatalf("%v at %s\n%s", err, last, out[:min(len(out), 8000)])
	}
	t.Logf("%s", out)
	return false
}

// accepted returns the chains that the parser takes: as they are, or with brackets around what goes round, where
// an operator is not associative.
func accepted(t *testing.T, every int) (out []*chain) {
	t.Helper()
	p := New()
	all := readGrammar(t).chains(every)
	for _, c := range all {
		bracketed := *c
		bracketed.cycle = around{append(append([]string{}, c.cycle.before...), "("), append([]string{")"}, c.cycle.behind...), true}
		for _, c := range []*chain{c, &bracketed} {
			if _, err := p.Parse(t.Context(), c.text(3)); err == nil {
				out = append(out, c)
				break
			}
		}
	}
	single, taken := 0, 0
	for _, c := range all {
		if !c.composed {
			single++
		}
	}
	for _, c := range out {
		if !c.composed {
			taken++
		}
	}
	t.Logf("%d of %d chains, %d composed of two", taken, single, len(out)-taken)
	if taken < single*4/5 {
		t.Errorf("only %d of %d chains parse", taken, single)
	}
	return out
}

// rounds returns how many rounds of the chain are within the bounds, or some fewer.
func (c *chain) rounds(depth int) int {
	measure := func(n int) lex.Size {
		return lex.Measure(c.text(n), false, lex.Size{Tokens: 1 << 30, Depth: 1 << 30})
	}
	few, more := measure(20), measure(40)
	n := 1 << 30
	if d := more.Depth - few.Depth; d > 0 {
		n = min(n, 20*(depth-few.Depth)/d+20)
	}
	if d := more.Tokens - few.Tokens; d > 0 {
		n = min(n, 20*(MaxTokens-few.Tokens)/d+20)
	}
	for s := measure(n); n > 1 && (s.Tokens > MaxTokens || s.Depth > depth); s = measure(n) {
		n -= 1 + n/50
	}
	return n
}

// TestStack proves that no text within MaxDepth comes near the end of the stack of a parser's thread: the
// longest chain of every rule of the grammar that leads back to itself is parsed, and the stack measured.
func TestStack(t *testing.T) {
	if !inChild(t) {
		return
	}
	depth, every := MaxDepth/20, 360
	if os.Getenv("MBUS_LONG") != "" {
		depth, every = MaxDepth, 1
	}
	chains := accepted(t, every)
	// Its size is one that no other mapping has. Pages that were used stay, so the figure is the greatest so far.
	const stack = stackBytes + 13<<16
	th, err := startThread(stack)
	if err != nil {
		t.Fatal(err)
	}
	worst, deepest := 0, ""
	for i, c := range chains {
		text := c.text(c.rounds(depth))
		var err error
		th.do(func() { _, err = parser.ParseToProtobuf(text) })
		if err := classifiedOrNil(err); errors.As(err, new(*SyntaxError)) {
			t.Errorf("%s no longer parses: %v", c.name, err)
		}
		if i%20 != 0 && i != len(chains)-1 {
			continue // to look takes longer than to parse
		}
		used := stackUsed(t, stack)
		if used == 0 {
			t.Fatal("the stack is not among the mappings")
		}
		if used > worst {
			worst, deepest = used, fmt.Sprintf("one of the 20 up to %s", c.name)
		}
	}
	th.stop()
	t.Logf("%d bytes for a level, by %s", worst/depth, deepest)
	if worst > stackFor(depth)/2 {
		t.Errorf("a level takes %d bytes of stack, by %s", worst/depth, deepest)
	}
}

func classifiedOrNil(err error) error {
	if err == nil {
		return nil
	}
	return classified(err)
}

// stackUsed returns how much memory stacks of the given size have, at most.
func stackUsed(t *testing.T, size int) (used int) {
	t.Helper()
	f, err := os.Open(filepath.Join("/proc", "self", "smaps"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	ours := false
	for s := bufio.NewScanner(f); s.Scan(); {
		var from, to uint64
		if n, _ := fmt.Sscanf(s.Text(), "%x-%x", &from, &to); n == 2 && strings.Contains(strings.Fields(s.Text())[0], "-") {
			ours = int(to-from) == size || int(to-from) == size-guardBytes
		}
		kilobytes := 0
		if n, _ := fmt.Sscanf(s.Text(), "Rss: %d kB", &kilobytes); n == 1 && ours {
			used = max(used, kilobytes<<10)
		}
	}
	return used
}
