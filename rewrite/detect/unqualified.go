package detect

import (
	"bytes"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"mbusproxy/rewrite/lex"
	"mbusproxy/sqlfuncs"
)

// Unqualified is a set of names of functions that are served without the schema, too. nil is the empty set.
//
// Whether such a name means a function of ours, only the session can tell, since it depends on the
// search_path and on the functions in it. So the calls are candidates at first, about which the
// session is asked by a probe query.
type Unqualified struct {
	all   bool
	names map[string]bool
	globs []*regexp.Regexp
}

// allNames stands for all functions in the list of NewUnqualified.
const allNames = "all"

// plainName matches names that need no quotes. Others are not served without the schema.
var plainName = regexp.MustCompile(`^[a-z_][a-z0-9_]*$`)

// NewUnqualified reads a list of names. Each is "all", the name of a function, or one in which *
// stands for the name of a queue or consumer, as in post_* and consume_*_by_*. It returns nil for
// an empty list.
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

// isPlain reports whether plainName matches. It is fast, for it is asked for every word of a text.
func isPlain(name string) bool {
	for i := range len(name) {
		if c := name[i]; (c < 'a' || c > 'z') && c != '_' && (i == 0 || c < '0' || c > '9') {
			return false
		}
	}
	return name != ""
}

// Lookup finds the function that a name without a schema may mean.
func (u *Unqualified) Lookup(name string) (sqlfuncs.Match, bool) {
	if u == nil || !isPlain(name) {
		return sqlfuncs.Match{}, false
	}
	if !u.all && !u.names[name] && !slices.ContainsFunc(u.globs, func(g *regexp.Regexp) bool { return g.MatchString(name) }) {
		return sqlfuncs.Match{}, false
	}
	return sqlfuncs.Lookup(name)
}

// nameReach is how many bytes before a parenthesis a name begins at most.
const nameReach = 256

// Mentions is the cheap test for a text that may hold calls by such names. It looks at the words that stand before
// parentheses. Where it cannot tell, it is true.
func (u *Unqualified) Mentions(text []byte) bool {
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
		_, ok := u.Lookup(string(name))
		return ok || bytes.IndexByte(name, '\\') >= 0
	case !lex.InWord(last):
		return false
	}
	start := len(t)
	for start > 0 && lex.InWord(t[start-1]) {
		start--
	}
	if start > 0 && t[start-1] == '.' {
		return false // with a schema
	}
	_, ok := u.Lookup(sqlfuncs.Fold(string(t[start:])))
	return ok
}

// Candidate is what must be known of a call without the schema to tell whether it means a function of ours.
type Candidate struct {
	Name  string
	Args  int      // how many arguments
	Named []string // the names of those given by name, sorted
}

// Equal reports whether two calls mean the same function.
func (k Candidate) Equal(other Candidate) bool {
	return k.Name == other.Name && k.Args == other.Args && slices.Equal(k.Named, other.Named)
}
