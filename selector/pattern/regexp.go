package pattern

import (
	"fmt"
	"slices"
	"strings"
	"unicode"
)

const (
	maxRegexp = 200 // bytes
	maxRepeat = 100 // in {m,n}
	maxStates = 500 // of a pattern whose repetitions are written out
	// maxConstraints bounds ^, $, \y, \m and \M, which Postgres writes out into each way past them: with 20 in a row it takes
	// seconds to find that there are too many.
	maxConstraints = 10
)

const hintRegexp = `Characters, ., [a-z], [[:alpha:]], (a|b), ^, $, * + ? {2,5}, \d \s \w \D \S \W \y and \ before a sign may be used; docs/selectors.md has the list.`

// regexpReader checks a regular expression of the dialect that a selector may use: what Postgres takes for
// an advanced regular expression, without what needs backtracking, options and what could be too large once
// compiled. Whatever passes is valid for Postgres in every encoding.
type regexpReader struct {
	rest        []rune
	groups      int
	constraints int
}

// CheckRegexp returns why a regular expression is not allowed; nil: it is. states is how many it takes at most.
func CheckRegexp(p string) (states int, refused *Refusal) {
	if len(p) > maxRegexp {
		return 0, &Refusal{Code: codeProgramLimit, Message: fmt.Sprintf("a regular expression of %d bytes is too long, it may have %d", len(p), maxRegexp)}
	}
	r := &regexpReader{rest: []rune(p)}
	states, refused = r.alternatives()
	if refused == nil && len(r.rest) > 0 {
		refused = r.refuse("an unmatched )")
	}
	if refused == nil && states > maxStates {
		refused = tooComplex()
	}
	return states, refused
}

func (r *regexpReader) refuse(what string) *Refusal {
	return &Refusal{Code: codeInvalidRegexp, Message: fmt.Sprintf("%s is not allowed in a regular expression of a selector", what), Hint: hintRegexp}
}

func tooComplex() *Refusal {
	return &Refusal{Code: codeTooComplex, Message: "the regular expression is too complex", Hint: hintRegexp}
}

func (r *regexpReader) next() rune {
	if len(r.rest) == 0 {
		return 0
	}
	return r.rest[0]
}

func (r *regexpReader) take() rune {
	ch := r.rest[0]
	r.rest = r.rest[1:]
	return ch
}

func (r *regexpReader) has(prefix string) bool {
	p := []rune(prefix)
	return len(r.rest) >= len(p) && slices.Equal(r.rest[:len(p)], p)
}

// alternatives reads up to the end or a closing parenthesis, and returns how many states it takes.
func (r *regexpReader) alternatives() (int, *Refusal) {
	states := 1
	for empty := true; ; empty = false {
		switch ch := r.next(); {
		case len(r.rest) == 0 || ch == ')':
			if empty {
				return 0, r.refuse("an empty alternative")
			}
			return states, nil
		case ch == '|':
			if empty {
				return 0, r.refuse("an empty alternative")
			}
			r.take()
			n, err := r.alternatives()
			return states + n, err
		}
		n, err := r.piece()
		if err != nil {
			return 0, err
		}
		if states += n; states > maxStates {
			return states, tooComplex()
		}
	}
}

// piece reads an atom with its quantifier.
func (r *regexpReader) piece() (int, *Refusal) {
	states, err := 1, (*Refusal)(nil)
	constraint, before := false, r.constraints
	switch ch := r.take(); ch {
	case '^', '$':
		constraint = true
	case '(':
		if r.groups++; r.groups > 50 {
			return 0, tooComplex()
		}
		if r.has("?:") {
			r.rest = r.rest[2:]
		} else if r.next() == '?' {
			return 0, r.refuse("(?")
		}
		if states, err = r.alternatives(); err != nil {
			return 0, err
		}
		if len(r.rest) == 0 {
			return 0, r.refuse("an unmatched (")
		}
		r.take()
	case '[':
		err = r.bracket()
	case '\\':
		constraint, err = r.escape()
	case '*', '+', '?', '{', '}', ']':
		return 0, r.refuse(string(ch) + " without anything to repeat, or without a backslash,")
	}
	if err != nil {
		return 0, err
	}
	if constraint {
		r.constraints++
	}
	if r.constraints > maxConstraints {
		return 0, tooComplex()
	}
	times, quantified, err := r.quantifier()
	if err == nil && quantified && r.constraints > before {
		err = r.refuse("a repeated ^, $ or \\y")
	}
	return states*times + 1, err
}

func (r *regexpReader) escape() (constraint bool, err *Refusal) {
	if len(r.rest) == 0 {
		return false, r.refuse("a backslash at the end")
	}
	ch := r.take()
	switch {
	case strings.ContainsRune("dswDSWtnrf", ch):
		return false, nil
	case strings.ContainsRune("ymM", ch):
		return true, nil
	case ch < 0x80 && (unicode.IsPunct(ch) || unicode.IsSymbol(ch) || ch == ' '):
		return false, nil
	}
	return false, r.refuse(`\` + string(ch))
}

// quantifier reads * + ? or {m,n}, greedy or not, and returns how many copies of the atom it makes.
func (r *regexpReader) quantifier() (times int, found bool, err *Refusal) {
	switch r.next() {
	case '*', '+', '?':
		r.take()
		times = 2
	case '{':
		r.take()
		low, ok := r.count()
		if !ok {
			return 0, false, r.refuse("{ without a backslash")
		}
		high := low
		if r.next() == ',' {
			r.take()
			if high, ok = r.count(); !ok {
				high = low + 1
			}
		}
		if r.next() != '}' || high > maxRepeat || low > high {
			return 0, false, r.refuse("such a {m,n}")
		}
		r.take()
		times = max(high, 1)
	default:
		return 1, false, nil
	}
	if r.next() == '?' {
		r.take()
	}
	if strings.ContainsRune("*+?{", r.next()) && len(r.rest) > 0 {
		return 0, false, r.refuse("a repetition of a repetition")
	}
	return times, true, nil
}

func (r *regexpReader) count() (n int, ok bool) {
	for len(r.rest) > 0 && r.rest[0] >= '0' && r.rest[0] <= '9' && n <= maxRepeat {
		n, ok = n*10+int(r.take()-'0'), true
	}
	return n, ok
}

var classes = []string{"alnum", "alpha", "blank", "cntrl", "digit", "graph", "lower", "print", "punct", "space", "upper", "xdigit"}

// bracket reads what follows a [.
func (r *regexpReader) bracket() *Refusal {
	if r.next() == '^' {
		r.take()
	}
	for first := true; ; first = false {
		if len(r.rest) == 0 {
			return r.refuse("an unmatched [")
		}
		ch := r.take()
		switch {
		case ch == ']' && !first:
			return nil
		case ch == ']':
			return r.refuse("[]")
		case ch == '[':
			if err := r.class(); err != nil {
				return err
			}
			if r.next() == '-' && !r.has("-]") {
				return r.refuse("a range of classes")
			}
			continue
		case ch == '\\':
			if strings.ContainsRune("DSW", r.next()) && len(r.rest) > 0 {
				return r.refuse("\\" + string(r.next()) + " in []")
			}
			constraint, err := r.escape()
			if err == nil && constraint {
				err = r.refuse(`\y in []`)
			}
			if err != nil {
				return err
			}
			if r.next() == '-' && !r.has("-]") {
				return r.refuse("a range that begins with a backslash")
			}
			continue
		case ch == '-':
			if !first && r.next() != ']' {
				return r.refuse("- within [] that is no range")
			}
			if r.next() == '-' {
				return r.refuse("-- in []")
			}
			continue
		}
		if r.next() != '-' || r.has("-]") {
			continue
		}
		r.take()
		if len(r.rest) == 0 {
			return r.refuse("an unmatched [")
		}
		// The order of other letters is that of the database's encoding.
		end := r.take()
		if ch >= 0x80 || end >= 0x80 || end < ch || end == '[' || end == '\\' || end == ']' || end == '-' {
			return r.refuse("the range " + string(ch) + "-" + string(end))
		}
		if r.next() == '-' && !r.has("-]") {
			return r.refuse("a range of ranges")
		}
	}
}

func (r *regexpReader) class() *Refusal {
	for _, name := range classes {
		if word := ":" + name + ":]"; r.has(word) {
			r.rest = r.rest[len(word):]
			return nil
		}
	}
	return r.refuse("[ within [] without a backslash")
}
