package rewrite

import (
	"sort"
	"strings"
)

// A skeleton is a text without its whole numbers and the contents of its plain string literals.
// Clients of the simple protocol send the same statement with other literals again and again; what
// the rewriter does depends on the skeleton only, and on the few numbers that a plan names
// (Plan.pins), so that is what plans are cached by.
//
// The literals are found by reading the text as the server's lexer does (scan.l): comments, quoted
// identifiers, dollar quotes and strings with a prefix (E, B, X, N, U&) are part of the skeleton.
// They are found in what the parser may see of the text (parseable), where no half of a character
// looks like a quote or a backslash.

// What stands for the contents of a string and for a number. Clients write neither, but for those that would
// be mistaken for others: see skeleton.
const (
	stringMark = "\x00"
	numberMark = "\x01"
)

// maxNumber is the length up to which a number is surely an integer, as int4 is for the parser.
const maxNumber = 9

// literal is the contents of a string, quotes excluded, or a whole number.
type literal struct {
	span
	number bool
}

// skeleton returns text with its literals replaced, and where they are. escapes says that a backslash
// escapes in plain strings. It gives up, with no literals, on a text that it cannot read to the end, and on
// one that holds a mark, which it changes so that no other text gives the same.
func skeleton(text string, enc encodingKind, escapes bool) (string, []literal) {
	if strings.Contains(text, stringMark) || strings.Contains(text, numberMark) {
		return stringMark + text, nil
	}
	var literals []literal
	lexed := enc.parseable(text)
	for i := 0; i < len(text); {
		next, plain := lexeme(lexed, i, escapes)
		switch {
		case next < 0:
			return text, nil
		case plain:
			literals = append(literals, literal{span{i + 1, next - 1}, false})
		case next-i <= maxNumber && digits(text[i:next]):
			literals = append(literals, literal{span{i, next}, true})
		}
		i = next
	}
	if len(literals) == 0 {
		return text, nil
	}
	var b strings.Builder
	b.Grow(len(text))
	pos := 0
	for _, l := range literals {
		b.WriteString(text[pos:l.start])
		if l.number {
			b.WriteString(numberMark)
		} else {
			b.WriteString(stringMark)
		}
		pos = l.end
	}
	b.WriteString(text[pos:])
	return b.String(), literals
}

func digits(s string) bool {
	for i := range len(s) {
		if s[i] < '0' || s[i] > '9' {
			return false
		}
	}
	return true
}

// blank returns text with the contents of its strings replaced by letters.
func blank(text string, literals []literal) string {
	b := []byte(text)
	for _, l := range literals {
		if l.number {
			continue
		}
		for i := l.start; i < l.end; i++ {
			b[i] = 'z'
		}
	}
	return string(b)
}

// lexeme returns where the lexeme at i ends, and whether it is a plain string; -1 when it
// does not end.
func lexeme(text string, i int, escapes bool) (next int, plain bool) {
	switch c := text[i]; {
	case c == '\'':
		// E'…' and the like are read by word; a quote that comes first is plain.
		return quoted(text, i, '\'', escapes), true
	case c == '"':
		return quoted(text, i, '"', false), false
	case c == '-' && strings.HasPrefix(text[i:], "--"):
		if j := strings.IndexAny(text[i:], "\r\n"); j >= 0 {
			return i + j, false
		}
		return len(text), false
	case c == '/' && strings.HasPrefix(text[i:], "/*"):
		return comment(text, i), false
	case c == '$':
		return dollarQuoted(text, i), false
	case inWord(c):
		j := i
		for j < len(text) && inWord(text[j]) {
			j++
		}
		if j < len(text) && text[j] == '\'' && prefixes(text[i:j]) {
			return quoted(text, j, '\'', escapes || text[i] == 'e' || text[i] == 'E'), false
		}
		if j+1 < len(text) && text[j] == '&' && (text[j+1] == '\'' || text[j+1] == '"') && (text[i:j] == "u" || text[i:j] == "U") {
			return quoted(text, j+1, text[j+1], false), false
		}
		return j, false
	}
	return i + 1, false
}

// prefixes reports whether a word before a quote belongs to the string. A longer word that ends in
// such a letter does not.
func prefixes(word string) bool {
	return len(word) == 1 && strings.Contains("eEbBxXnN", word)
}

// quoted returns where the quoted text that opens at i ends.
func quoted(text string, i int, quote byte, escapes bool) int {
	for j := i + 1; j < len(text); j++ {
		switch {
		case escapes && text[j] == '\\':
			j++
		case text[j] == quote:
			if j+1 < len(text) && text[j+1] == quote {
				j++
				continue
			}
			return j + 1
		}
	}
	return -1
}

// comment returns where the comment that opens at i ends; comments nest.
func comment(text string, i int) int {
	depth := 0
	for j := i; j+1 < len(text); j++ {
		switch text[j : j+2] {
		case "/*":
			depth++
			j++
		case "*/":
			depth--
			j++
			if depth == 0 {
				return j + 1
			}
		}
	}
	return -1
}

// dollarQuoted returns where the dollar-quoted string that opens at i ends, or where the $ and what
// belongs to it does when it opens none, as in $1.
func dollarQuoted(text string, i int) int {
	j := i + 1
	for j < len(text) && inWord(text[j]) && text[j] != '$' {
		j++
	}
	if j == len(text) || text[j] != '$' || (j > i+1 && text[i+1] >= '0' && text[i+1] <= '9') {
		return j
	}
	tag := text[i : j+1]
	end := strings.Index(text[j+1:], tag)
	if end < 0 {
		return -1
	}
	return j + 1 + end + len(tag)
}

// fits reports whether the plan holds for a text of the same skeleton: the numbers it depends on are
// the same.
func (p *Plan) fits(text string, from, to []literal) bool {
	for _, pin := range p.pins {
		i := sort.Search(len(from), func(i int) bool { return from[i].start >= pin })
		if i < len(from) && from[i].start == pin && p.client[from[i].start:from[i].end] != text[to[i].start:to[i].end] {
			return false
		}
	}
	return true
}

// transfer makes from a plan for one text the plan for another with the same skeleton. from and to
// are the literals in either.
func (p *Plan) transfer(text string, from, to []literal) *Plan {
	q := &Plan{client: text, enc: p.enc, escapes: p.escapes, headers: p.headers, signals: p.signals, refusals: p.refusals, relations: p.relations, blocks: p.blocks, secret: p.secret, calls: make([]callSite, len(p.calls))}
	m := mover{from: from, to: to}
	for i, c := range p.calls {
		c.span = m.moveSpan(c.span)
		q.calls[i] = c
	}
	if len(p.given) > 0 {
		q.given = make([]given, len(p.given))
		for i, g := range p.given {
			g.Offset, g.literal = m.move(g.Offset), m.moveSpan(g.literal)
			q.given[i] = g
		}
		q.selectors, q.steps = p.selectors, p.steps
	}
	if len(p.stmts) > 0 {
		q.stmts = make([]piece, len(p.stmts))
		for i, s := range p.stmts {
			q.stmts[i] = piece{m.moveSpan(s.span), s.from, s.to}
		}
	}
	if len(p.refusals) > 0 {
		q.refusals = make([]*Refusal, len(p.refusals))
		for i, r := range p.refusals {
			moved := *r
			moved.offset = m.move(r.offset)
			q.refusals[i] = &moved
		}
	}
	var b strings.Builder
	b.Grow(max(0, len(p.sql)+len(text)-len(p.client)))
	q.segs = make([]segment, len(p.segs))
	for i, s := range p.segs {
		end := len(p.sql)
		if i+1 < len(p.segs) {
			end = p.segs[i+1].out
		}
		q.segs[i] = segment{out: b.Len(), in: m.move(s.in), copy: s.copy, secret: s.secret}
		if s.copy {
			// What is copied starts and ends between lexemes, never inside a literal.
			b.WriteString(text[m.move(s.in):m.move(s.in+end-s.out)])
		} else {
			b.WriteString(p.sql[s.out:end])
		}
	}
	q.sql = b.String()
	q.decode()
	return q
}

// mover maps places of one text to another with the same skeleton.
type mover struct{ from, to []literal }

func (m mover) moveSpan(sp span) span { return span{m.move(sp.start), m.move(sp.end)} }

// move maps a place that is not inside a literal.
func (m mover) move(pos int) int {
	i := sort.Search(len(m.from), func(i int) bool { return m.from[i].end > pos })
	if i == 0 {
		return pos
	}
	return pos + m.to[i-1].end - m.from[i-1].end
}
