package rewrite

import (
	"slices"
	"sort"
	"strings"

	"mbusproxy/rewrite/lex"
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
	l := lex.Lexer{Text: enc.parseable(text), Escapes: escapes}
	prefix := -1 // where a string is no plain one: behind the N of N'…'
	for t := l.Next(); t.Kind != lex.End; t = l.Next() {
		switch t.Kind {
		case lex.Open:
			return text, nil
		case lex.String:
			if t.Start == prefix {
				break
			}
			// One that goes on behind a line break is left as it is: it may have as many pieces as bytes.
			if lex.QuoteEnd(l.Text, t.Start, escapes) == t.End {
				literals = append(literals, literal{span{t.Start + 1, t.End - 1}, false})
			}
		case lex.Number:
			literals = appendNumbers(literals, l.Text, t.Start, t.End)
		case lex.Word:
			if t.End == t.Start+1 && l.Text[t.Start]|0x20 == 'n' {
				prefix = t.End
			}
		}
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

// appendNumbers adds the whole numbers in the token of a number: both of 1.5, none of 1e5.
func appendNumbers(literals []literal, text string, start, end int) []literal {
	for start < end {
		next := start
		for next < end && text[next] != '.' {
			next++
		}
		if next > start && next-start <= maxNumber && digits(text[start:next]) {
			literals = append(literals, literal{span{start, next}, true})
		}
		start = next + 1
	}
	return literals
}

func digits(s string) bool {
	for i := range len(s) {
		if s[i] < '0' || s[i] > '9' {
			return false
		}
	}
	return true
}

// plainStrings returns text with letters for the contents of its strings in which a backslash escapes though they
// have no E: the parser takes backslashes for what they are.
func plainStrings(text string) string {
	l := lex.Lexer{Text: text, Escapes: true}
	var b []byte
	for t := l.Next(); t.Kind != lex.End && t.Kind != lex.Open; t = l.Next() {
		if t.Kind != lex.String {
			continue
		}
		if b == nil {
			b = []byte(text)
		}
		for at := t.Start; at >= 0; {
			end := lex.QuoteEnd(text[:t.End], at, true)
			for i := at + 1; i < end-1; i++ {
				b[i] = 'z'
			}
			at = lex.Continuation(text[:t.End], end)
		}
	}
	if b == nil {
		return text
	}
	return string(b)
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
	q := &Plan{client: text, enc: p.enc, escapes: p.escapes, headers: p.headers, signals: p.signals, refusals: p.refusals, relations: p.relations, blocks: p.blocks, secret: p.secret, calls: slices.Clone(p.calls)}
	m := mover{from: from, to: to}
	for i, c := range q.calls {
		q.calls[i].span = m.moveSpan(c.span)
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
	for _, pin := range p.pins {
		q.pins = append(q.pins, m.move(pin))
	}
	q.server = p.server.transfer(text, m)
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
