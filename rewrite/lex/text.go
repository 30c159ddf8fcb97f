package lex

import (
	"sort"
)

// Mover maps places of one text to another with the same skeleton.
type Mover struct{ From, To []Literal }

func (m Mover) MoveSpan(sp Span) Span { return Span{m.Move(sp.Start), m.Move(sp.End)} }

// Move maps a place that is not inside a literal.
func (m Mover) Move(pos int) int {
	i := sort.Search(len(m.From), func(i int) bool { return m.From[i].End > pos })
	if i == 0 {
		return pos
	}
	return pos + m.To[i-1].End - m.From[i-1].End
}

// Span is a range of bytes in the client's text.
type Span struct{ Start, End int }
