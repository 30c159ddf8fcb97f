package lex

import "sort"

// Mover maps places in one text to places in another with the same skeleton. From and To are the literals of the two.
type Mover struct{ From, To []Literal }

// MoveSpan maps a span that begins and ends in no literal.
func (m Mover) MoveSpan(sp Span) Span { return Span{m.Move(sp.Start), m.Move(sp.End)} }

// Move maps a place that is in no literal. The place where a literal begins is in none.
func (m Mover) Move(pos int) int {
	i := sort.Search(len(m.From), func(i int) bool { return m.From[i].End > pos })
	if i == 0 {
		return pos
	}
	return pos + m.To[i-1].End - m.From[i-1].End
}

// Span is a range of bytes of a text.
type Span struct{ Start, End int }
