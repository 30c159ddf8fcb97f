package rewrite

import (
	"bytes"
	stdcontext "context"
	"fmt"
	"regexp"
	"slices"
	"strings"

	pg_query "github.com/pganalyze/pg_query_go/v6"

	"mbusproxy/rewrite/parse"
	"mbusproxy/sqlfuncs"
)

// Unqualified is a set of names of functions that are served without the schema, too. nil is the empty set.
//
// Whether such a name means a function of ours only the session can tell, for it depends on its search_path
// and on the functions in it. So a text that may hold such calls has Candidates, of which Session.Answer
// says which are ours.
type Unqualified struct {
	all   bool
	names map[string]bool
	globs []*regexp.Regexp
}

// allNames stands for all functions in the list that makes an Unqualified.
const allNames = "all"

// plainName is what a name must be to be served without the schema: one that needs no quotes.
var plainName = regexp.MustCompile(`^[a-z_][a-z0-9_]*$`)

// NewUnqualified reads a list of names: all, a function's name, or one in which * stands for the name of a
// queue or consumer, as in post_*, consume_*_by_*. nil for an empty list.
func NewUnqualified(list []string) (*Unqualified, error) {
	if len(list) == 0 {
		return nil, nil
	}
	u := &Unqualified{names: map[string]bool{}}
	for _, entry := range list {
		name := strings.ToLower(strings.TrimSpace(entry))
		if name == allNames {
			u.all = true
			continue
		}
		served := plainName.MatchString(strings.ReplaceAll(name, "*", "x"))
		if served {
			_, one := sqlfuncs.Lookup(strings.ReplaceAll(name, "*", "x"))
			_, two := sqlfuncs.Lookup(strings.ReplaceAll(name, "*", "x_by_x"))
			served = one || two && strings.Contains(name, "*")
		}
		switch {
		case !served:
			return nil, fmt.Errorf("%s has no function %s", sqlfuncs.Schema, entry)
		case strings.Contains(name, "*"):
			u.globs = append(u.globs, regexp.MustCompile("^"+strings.ReplaceAll(name, "*", ".+")+"$"))
		default:
			u.names[name] = true
		}
	}
	return u, nil
}

// isPlain is plainName for what every word of a text is asked.
func isPlain(name string) bool {
	for i := range len(name) {
		if c := name[i]; (c < 'a' || c > 'z') && c != '_' && (i == 0 || c < '0' || c > '9') {
			return false
		}
	}
	return name != ""
}

// lookup finds the function that a name without a schema may mean.
func (u *Unqualified) lookup(name string) (sqlfuncs.Match, bool) {
	if u == nil || !isPlain(name) {
		return sqlfuncs.Match{}, false
	}
	if !u.all && !u.names[name] && !slices.ContainsFunc(u.globs, func(g *regexp.Regexp) bool { return g.MatchString(name) }) {
		return sqlfuncs.Match{}, false
	}
	return sqlfuncs.Lookup(name)
}

// nameReach is how far before a parenthesis a name may begin, in bytes.
const nameReach = 256

// mentions is the cheap test for a text that may hold calls by such names: it looks at the words that
// stand before parentheses. Where it cannot tell it says yes.
func (u *Unqualified) mentions(text []byte) bool {
	if u == nil {
		return false
	}
	for i := 0; ; {
		j := bytes.IndexByte(text[i:], '(')
		if j < 0 {
			return false
		}
		i += j + 1
		if u.endsIn(text[:i-1]) {
			return true
		}
	}
}

// endsIn reports whether text may end in one of the names.
func (u *Unqualified) endsIn(text []byte) bool {
	t := bytes.TrimRight(text, " \t\r\n\f\v")
	if bytes.ContainsAny(text[len(t):], "\r\n") {
		line := t[bytes.LastIndexAny(t, "\r\n")+1:]
		if bytes.Contains(line, []byte("--")) {
			return true // the name may stand before a comment
		}
	}
	if len(t) == 0 {
		return false
	}
	t = t[max(0, len(t)-nameReach):]
	switch last := t[len(t)-1]; {
	case last == '/':
		return bytes.HasSuffix(t, []byte("*/"))
	case last == '"':
		t = t[:len(t)-1]
		name := t[bytes.LastIndexByte(t, '"')+1:]
		_, ok := u.lookup(string(name))
		return ok || bytes.IndexByte(name, '\\') >= 0
	case !inWord(last):
		return false
	}
	start := len(t)
	for start > 0 && inWord(t[start-1]) {
		start--
	}
	if start > 0 && t[start-1] == '.' {
		return false // with a schema
	}
	_, ok := u.lookup(strings.ToLower(string(t[start:])))
	return ok
}

// Candidate is what must be known of an unqualified call to tell what it means. Names are plain.
type Candidate struct {
	Name  string
	Args  int      // how many arguments
	Named []string // the names of those given by name, sorted
}

// candidate describes an unqualified call.
func (c *call) candidate() Candidate {
	k := Candidate{Name: c.match.Name, Args: len(c.list)}
	for _, a := range c.list {
		if na := a.GetNamedArgExpr(); na != nil {
			k.Named = append(k.Named, na.Name)
		}
	}
	slices.Sort(k.Named)
	return k
}

func (k Candidate) equal(other Candidate) bool {
	return k.Name == other.Name && k.Args == other.Args && slices.Equal(k.Named, other.Named)
}

// candidates lists the different ones among the document's calls, in the order of the text.
func (d *document) candidates() []Candidate {
	var out []Candidate
	for _, calls := range d.calls {
		for _, c := range calls {
			if k := c.candidate(); c.unqualified && !slices.ContainsFunc(out, k.equal) {
				out = append(out, k)
			}
		}
	}
	return out
}

// settle drops the unqualified calls that are not ours; answer has a 1 for each candidate that is.
func (d *document) settle(answer string) {
	if d == nil {
		return
	}
	known := d.candidates()
	for i := range d.calls {
		d.calls[i] = slices.DeleteFunc(d.calls[i], func(c *call) bool {
			if !c.unqualified {
				return false
			}
			n := slices.IndexFunc(known, c.candidate().equal)
			return n >= len(answer) || answer[n] != '1'
		})
	}
}

// Candidates is CandidatesContext for callers that nothing can interrupt.
func (r *Rewriter) Candidates(text string, session Session) []Candidate {
	return r.CandidatesContext(stdcontext.Background(), text, session)
}

// CandidatesContext returns the unqualified calls of a text that may be ours, each kind once. A text that cannot
// be parsed for the time being, or at all, has none; RewriteContext says what is wrong with it.
func (r *Rewriter) CandidatesContext(ctx stdcontext.Context, text string, session Session) []Candidate {
	if !r.unqualified.mentions([]byte(text)) {
		return nil
	}
	enc := kindOf(session.Encoding)
	if len(text) > cacheTextLimit {
		lexed := enc.parseable(text)
		h := holds(lexed, session.EscapeStrings, r.unqualified)
		if h.calls == 0 {
			return nil
		}
		if _, err := parse.Check(lexed, session.EscapeStrings, h.calls); err != nil {
			return nil
		}
	}
	skel, _ := skeleton(text, enc, session.EscapeStrings)
	key := r.key(skel, session)
	key.answer = "?"
	if known := r.cache.get(key); known != nil {
		return known.candidates
	}
	known := &cached{}
	doc, err := r.readAll(ctx, text, session)
	if err != nil {
		return nil
	}
	defer doc.release()
	if doc != nil {
		known.candidates = doc.candidates()
	}
	r.cache.put(key, known)
	return known.candidates
}

// guardCalls marks the unqualified calls that must look for themselves, when they are evaluated, whether
// they are still ours: those of statements that run later than the session was asked, or again.
func (st *statement) guardCalls(stmt *pg_query.Node, later bool) *Refusal {
	if !later && stmt.GetPrepareStmt() == nil {
		return nil
	}
	bare, _ := evaluated(stmt)
	for _, c := range st.calls {
		if c.guarded = c.unqualified; c.guarded && bare && c.node != stmt.GetCallStmt().GetFunccall() {
			name := sqlfuncs.Schema + "." + c.match.Name
			return &Refusal{
				Code:    codeFeatureNotSupported,
				Message: fmt.Sprintf("%s cannot be called without its schema in the arguments of a prepared CALL or EXECUTE, nor in one of several statements", c.match.Name),
				Hint:    fmt.Sprintf("Write %s(…).", name),
				offset:  c.start,
			}
		}
	}
	return nil
}

// guard is an expression that is true, or fails where the call is no longer ours.
func (st *statement) guard(c *call) string {
	return st.fragments.Guard(c.candidate().Name, len(c.list), c.candidate().Named, mark(c.number))
}

// writeGuarded writes what emit does so that it is evaluated only behind the call's guard.
func (st *statement) writeGuarded(o *output, c *call, emit func()) {
	o.write("(case when ", c.start)
	st.write(o, c, st.guard(c))
	o.write(" then ", c.start)
	emit()
	o.write(" end)", c.start)
}

// mayProject reports whether Postgres might read an unqualified call as a column of a row: f(x) is x.f where
// x is a row with such a column. Then the argument must be shown to be none.
func (c *call) mayProject() bool {
	return c.unqualified && len(c.list) == 1 && c.list[0].GetNamedArgExpr() == nil && c.list[0].GetAConst() == nil && c.list[0].GetParamRef() == nil
}

// noRow is a function that takes a text and nothing else without a cast, rows in particular.
const noRow = "pg_catalog.textcat"

// HintUnqualified explains an error about a function that the server did not find, where its name is one that
// is served without the schema under the right circumstances.
func (r *Rewriter) HintUnqualified(rep *Report) bool {
	if rep.Code != codeUndefinedFunction || rep.File != fileFunctions || r.unqualified == nil {
		return false
	}
	before, _, called := strings.Cut(rep.Message, "(")
	name := before[strings.LastIndexAny(before, " »«“”„\u00a0\"")+1:]
	name = strings.TrimFunc(name, func(c rune) bool { return c > 0x7f || c == '"' })
	if _, ok := r.unqualified.lookup(name); !called || !ok {
		return false
	}
	ours := fmt.Sprintf("If %[1]s.%[2]s is meant, write %[1]s.%[2]s(…); without the schema it is served where %[1]s is in the search_path and no other function of the name, or type, that may take as many arguments.",
		sqlfuncs.Schema, name)
	rep.Hint = strings.TrimSpace(rep.Hint + " " + ours)
	return true
}
