package parse

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"strings"
	"sync"
	"testing"
	"time"
	"unicode/utf8"

	pg_query "github.com/pganalyze/pg_query_go/v6"
	"github.com/pganalyze/pg_query_go/v6/parser"
	"google.golang.org/protobuf/proto"

	"mbusproxy/rewrite/lex"
)

// generator makes texts of the grammar, deep and wide, and some that are none.
type generator struct {
	g      *grammar
	rules  map[int][]rule // by the left side
	start  int
	chains []*chain
}

var newGenerator = sync.OnceValue(func() *generator { //nolint:gochecknoglobals // it is made once, and costs a second
	g := readGrammar(&testing.B{})
	gen := &generator{g: g, rules: map[int][]rule{}, chains: g.chains(50)}
	for _, r := range g.rules {
		gen.rules[r.left] = append(gen.rules[r.left], r)
	}
	for s, name := range g.names {
		if name == "toplevel_stmt" {
			gen.start = s
		}
	}
	return gen
})

// text makes a text; the same for the same seed.
func (gen *generator) text(seed uint64) string {
	rnd := rand.New(rand.NewPCG(seed, 1))
	var tokens []string
	switch rnd.IntN(4) {
	case 0: // a chain, perhaps with another one in it
		c := *gen.chains[rnd.IntN(len(gen.chains))]
		for range 50 {
			if d := gen.chains[rnd.IntN(len(gen.chains))]; d.symbol == c.symbol && rnd.IntN(2) == 0 {
				c.cycle = d.cycle.within(c.cycle)
				break
			}
		}
		return mutate(rnd, strings.Fields(c.text(1<<rnd.IntN(13))), rnd.IntN(3) == 0)
	case 1: // wide
		tokens = append(tokens, "select", "f", "(")
		for range 1 << rnd.IntN(15) {
			tokens = append(tokens, gen.derive(rnd, gen.symbol("a_expr"), 3)...)
			tokens = append(tokens, []string{",", "and", "+", "or"}[rnd.IntN(4)])
		}
		tokens = append(tokens, "1", ")")
	default:
		for range 1 + rnd.IntN(3) {
			tokens = append(append(tokens, gen.derive(rnd, gen.start, 5+rnd.IntN(40))...), ";")
		}
	}
	return mutate(rnd, tokens, rnd.IntN(2) == 0)
}

func (gen *generator) symbol(name string) int {
	for s, n := range gen.g.names {
		if n == name {
			return s
		}
	}
	return 0
}

// derive writes a symbol by rules drawn at random, and the shortest once it is deep enough.
func (gen *generator) derive(rnd *rand.Rand, symbol, depth int) []string {
	rules := gen.rules[symbol]
	if len(rules) == 0 || depth <= 0 {
		return gen.g.least[symbol]
	}
	r := rules[rnd.IntN(len(rules))]
	if _, ok := gen.g.write(r.right); !ok {
		return gen.g.least[symbol]
	}
	var out []string
	for _, s := range r.right {
		if out = append(out, gen.derive(rnd, s, depth-1)...); len(out) > 5000 {
			depth = 0
		}
	}
	return out
}

// noise is what mutations put between tokens, and lexers may read in two ways.
var noise = []string{
	"'", "''", `"`, "$$", "$a$", "$1", "--", "--\n", "/*", "*/", "/**/", "\n", "\\", "E'", `E'\''`, "U&'", `U&"`, "N'", "X'", "'a'\n'b'", "'a'--'\n'b'", "E'a'\n'\\''",
	"+-", "-", "@-", "*/*", "<=", "=>", "::", ":=", "..", ".", "1.", ".5", "1e5", "1.5e-3", "1..2", "0x1F", "1_000", "é", "mbus4", ";", ",", "(", ")", "[", "]",
	"case", "end", "as", "between", "and", "not", "union", "join", "atomic",
}

// mutate joins tokens, after it has changed some if it is to.
func mutate(rnd *rand.Rand, tokens []string, wild bool) string {
	if wild && len(tokens) > 0 {
		tokens = append([]string{}, tokens...)
		for range 1 + rnd.IntN(4) {
			switch i := rnd.IntN(len(tokens)); rnd.IntN(4) {
			case 0:
				tokens[i] = noise[rnd.IntN(len(noise))]
			case 1:
				tokens[i] += noise[rnd.IntN(len(noise))]
			case 2:
				tokens[i] = tokens[rnd.IntN(len(tokens))]
			default:
				tokens[i] = ""
			}
		}
	}
	return strings.Join(tokens, []string{" ", "\n", " /* */ ", " "}[rnd.IntN(4)])
}

// checkText holds the lexer and the parser to what they promise for a text. A stack that is too small ends
// the process. compare says that the tokens must be those of the parser.
func checkText(t testing.TB, text string, compare bool) {
	t.Helper()
	if strings.ContainsRune(text, 0) || !utf8.ValidString(text) {
		return // neither comes from a client
	}
	if compare {
		checkTokens(t, text)
	}
	size, err := Check(text, false, 0)
	if err != nil {
		return
	}
	th, err := startThread(stackFor(size.Depth))
	if err != nil {
		t.Fatal(err)
	}
	var tree []byte
	th.do(func() { tree, err = parser.ParseToProtobuf(text) })
	th.stop()
	if compare && size.Open && err == nil {
		t.Errorf("%q parses though it ends within a token", shortened(text))
	}
	if err == nil {
		if err := (proto.UnmarshalOptions{RecursionLimit: 1 << 30}).Unmarshal(tree, &pg_query.ParseResult{}); err != nil {
			t.Errorf("%q: %v", shortened(text), err)
		}
	}
	if err != nil && !errors.As(classified(err), new(*SyntaxError)) && !strings.Contains(err.Error(), "memory exhausted") {
		t.Errorf("%q: %v", shortened(text), err)
	}
}

// stackFor is the stack that a text of a depth may take at most.
func stackFor(depth int) int { return 128<<10 + depth*stackPerDepth }

// checkTokens compares the tokens with those of the scanner, where it takes the text.
func checkTokens(t testing.TB, text string) {
	t.Helper()
	theirs, err := pg_query.Scan(text)
	if err != nil {
		return
	}
	l := lex.Lexer{Text: text}
	ours := 0 // up to where a string goes that the parser reads in pieces
	for _, want := range theirs.Tokens {
		if want.Token == pg_query.Token_SQL_COMMENT || want.Token == pg_query.Token_C_COMMENT {
			continue
		}
		if int(want.Start) < ours {
			continue
		}
		got := l.Next()
		if got.Start == int(want.Start) && (got.Kind == lex.String || got.Kind == lex.Prefixed) && strings.Contains(text[want.End:max(got.End, int(want.End))], "--") {
			ours = got.End // libpg_query does not go on behind a comment, as the server does
			continue
		}
		if got.Start != int(want.Start) || got.End != int(want.End) {
			t.Errorf("%q: token %q at %d, the parser has %q (%v) at %d", shortened(text), text[got.Start:got.End], got.Start, text[want.Start:want.End], want.Token, want.Start)
			return
		}
	}
	if got := l.Next(); got.Kind != lex.End {
		t.Errorf("%q: one more token, %q", shortened(text), text[got.Start:got.End])
	}
}

func shortened(text string) string {
	if len(text) > 500 {
		return text[:250] + " … " + text[len(text)-250:]
	}
	return text
}

// FuzzParse runs in workers, which are processes of their own: a crash is a finding. With MBUS_LONG=1 so is a token
// that the parser reads otherwise.
func FuzzParse(f *testing.F) {
	for i, s := range noise {
		f.Add(uint64(i), "select "+s+" 'x' "+s+" y")
	}
	f.Fuzz(func(t *testing.T, seed uint64, text string) {
		if text == "" {
			text = newGenerator().text(seed)
		}
		checkText(t, text, os.Getenv("MBUS_LONG") != "")
	})
}

// TestRandomTexts does in a child what FuzzParse does, for a second or as long as MBUS_RANDOM_TIME says.
func TestRandomTexts(t *testing.T) {
	if !inChild(t) {
		return
	}
	limit, seed := time.Second, uint64(1)
	if s := os.Getenv("MBUS_RANDOM_TIME"); s != "" {
		var err error
		if limit, err = time.ParseDuration(s); err != nil {
			t.Fatal(err)
		}
		seed = uint64(time.Now().UnixNano())
	}
	t.Logf("seed %d", seed)
	gen := newGenerator()
	n, bytes := 0, 0
	for end := time.Now().Add(limit); time.Now().Before(end) && !t.Failed(); n++ {
		// A crash leaves the seed of its text behind.
		if err := os.WriteFile(os.Getenv(childEnv), []byte(fmt.Sprint(seed+uint64(n))), 0o600); err != nil {
			t.Fatal(err)
		}
		text := gen.text(seed + uint64(n))
		bytes += len(text)
		checkText(t, text, true)
	}
	peak := peakMemory(t)
	t.Logf("%d texts, %d MB, %d MB of memory at most", n, bytes>>20, peak>>20)
	if peak > textMemory {
		t.Errorf("the texts took %d MB at a time", peak>>20)
	}
}

// textMemory is what this process may take, one text at a time, each within the bounds. The generator's tables and the
// race detector are most of it.
const textMemory = 768 << 20

// peakMemory is the most that the process has had in memory, in bytes.
func peakMemory(t *testing.T) int {
	t.Helper()
	status, err := os.ReadFile("/proc/self/status")
	if err != nil {
		t.Fatal(err)
	}
	_, rest, _ := strings.Cut(string(status), "VmHWM:")
	var kib int
	if _, err := fmt.Sscan(rest, &kib); err != nil {
		t.Fatal(err)
	}
	return kib << 10
}
