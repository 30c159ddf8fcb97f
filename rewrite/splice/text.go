package splice

import (
	"slices"
	"sort"
	"strings"

	"mbusproxy/rewrite/lex"
)

// The secret of a session proves that an error or notice is the engine's. Without it a marker (see
// package plan) might be the data of a message that a client casts to integer. Nobody who writes
// such data can know the secret: it stands in no table and no function. What shows the text of a
// statement (pg_stat_activity, current_query(), logs) shows it to the session, its role and those
// who administrate the server, and in any other session it is worth nothing.
//
// Texts are shared between sessions, so they hold BlankSecret instead, in pieces of their own, and Filled replaces it.

// The trace context of a statement is another each time, too. Its place is a literal of a fixed
// width, so that what stands behind it has the same position in all texts.

// SecretLen is the length of a secret in bytes.
const SecretLen = 16

// BlankSecret stands for the secret in a text that belongs to no session.
const BlankSecret = "_session_secret_"

// segment is a piece of a text.
type segment struct {
	out    int  // where it begins in the text
	in     int  // where it comes from in the client's text
	copy   bool // it is copied from there; otherwise it is ours and stands for the byte at in
	secret bool // it is the place of the secret
	trace  bool // it is the place of the trace context
}

// Text is a text that was put together from pieces, each of which knows where it comes from. It is immutable.
type Text struct {
	SQL  string
	segs []segment
}

// Copied returns a client's text as it is.
func Copied(text string) Text { return Text{text, []segment{{copy: true}}} }

// Pieces returns the number of the pieces.
func (t Text) Pieces() int { return len(t.segs) }

// startOf returns where piece i starts.
func (t Text) startOf(i int) int {
	if i == len(t.segs) {
		return len(t.SQL)
	}
	return t.segs[i].out
}

// segmentBytes is about what a segment takes, in bytes.
const segmentBytes = 24

// Size returns about how many bytes the text takes.
func (t Text) Size() int { return len(t.SQL) + segmentBytes*len(t.segs) }

// Origin returns the byte of the client's text from which the byte at off was copied. If copied is
// false, the byte at off is ours and stands for that byte.
func (t Text) Origin(off int) (in int, copied bool) {
	i := sort.Search(len(t.segs), func(i int) bool { return t.segs[i].out > off }) - 1
	if i < 0 {
		return 0, true
	}
	if s := t.segs[i]; s.copy {
		return s.in + off - s.out, true
	}
	return t.segs[i].in, false
}

// Transfer returns the text that comes of another client's text with the same skeleton. m maps
// places of the client's text to places of the other.
func (t Text) Transfer(text string, m lex.Mover) Text {
	segs, size := t.moved(m, func(off int) int { return off }, func(ours string) int { return len(ours) })
	var b strings.Builder
	b.Grow(size) // literals may be long, and are to be copied once
	for i, s := range t.segs {
		b.WriteString(t.piece(i, s, text, m))
	}
	return Text{b.String(), segs}
}

// moved returns the pieces of the text that Transfer makes, and their size. at turns places of the other client's text
// into what is counted, and size does that with a piece of ours.
func (t Text) moved(m lex.Mover, at func(off int) int, size func(ours string) int) (segs []segment, total int) {
	segs = make([]segment, len(t.segs))
	for i, s := range t.segs {
		in := m.Move(s.in)
		segs[i] = segment{out: total, in: at(in), copy: s.copy, secret: s.secret, trace: s.trace}
		if end := t.startOf(i + 1); s.copy {
			// What is copied starts and ends between lexemes, never inside a literal.
			total += at(m.Move(s.in+end-s.out)) - segs[i].in
		} else {
			total += size(t.SQL[s.out:end])
		}
	}
	return segs, total
}

// piece returns piece i of the text that Transfer makes.
func (t Text) piece(i int, s segment, text string, m lex.Mover) string {
	end := t.startOf(i + 1)
	if s.copy {
		return text[m.Move(s.in):m.Move(s.in+end-s.out)]
	}
	return t.SQL[s.out:end]
}

// AppendTransferred appends what Filled gives of the text that Transfer makes, which is not made: literals are copied once.
func (t Text) AppendTransferred(b []byte, text string, m lex.Mover, secret, trace string) []byte {
	for i, s := range t.segs {
		b = append(b, s.filled(t.piece(i, s, text, m), secret, trace)...)
	}
	return b
}

// Places returns the pieces of the text that Transfer makes, without the text. They are counted in characters.
// at are the places of the other client's text.
func (t Text) Places(m lex.Mover, at *lex.Places, enc lex.Encoding) Text {
	segs, _ := t.moved(m, at.Characters, func(ours string) int { return enc.CharPosition(ours, len(ours)) - 1 })
	return Text{segs: segs}
}

// Filled returns the text with the secret and the trace context in their places. The context has no
// quotes and fits its place; "" leaves the place blank, which is an empty hstore.
func (t Text) Filled(secret, trace string) string {
	if !slices.ContainsFunc(t.segs, func(s segment) bool { return s.secret || s.trace }) {
		return t.SQL
	}
	var b strings.Builder
	b.Grow(len(t.SQL)) // the text may be long, and is to be copied once
	for i, s := range t.segs {
		b.WriteString(s.filled(t.SQL[s.out:t.startOf(i+1)], secret, trace))
	}
	return b.String()
}

// filled is the text of the piece, with what belongs into it.
func (s segment) filled(text, secret, trace string) string {
	switch {
	case s.secret:
		return secret + text[len(secret):]
	case s.trace:
		return text[:1] + trace + text[1+len(trace):]
	}
	return text
}

// Piece is a piece of a text.
type Piece struct {
	Text     string
	lex.Span      // in the client's text, where it is copied; else it is empty and says for which byte the piece stands
	Copied   bool // from the client's text
	Trace    bool // it is the place of the trace context
}

// Replace returns the text with other pieces. with gets each piece but those of the secret, with
// the text of the pieces before and behind it, and returns what takes its place, which is ours if
// it is another text; false ends it.
func (t Text) Replace(with func(before string, piece Piece, behind string) (string, bool)) (Text, bool) {
	var b strings.Builder
	piece := func(i int) string {
		if i < 0 || i >= len(t.segs) {
			return ""
		}
		return t.SQL[t.segs[i].out:t.startOf(i+1)]
	}
	segs := slices.Clone(t.segs)
	for i, s := range t.segs {
		text := piece(i)
		if !s.secret {
			p := Piece{text, lex.Span{Start: s.in, End: s.in}, s.copy, s.trace}
			if s.copy {
				p.End += len(text)
			}
			var ok bool
			if text, ok = with(piece(i-1), p, piece(i+1)); !ok {
				return Text{}, false
			}
			segs[i].copy, segs[i].trace = s.copy && text == p.Text, s.trace && text == p.Text
		}
		segs[i].out = b.Len()
		b.WriteString(text)
	}
	return Text{b.String(), segs}, true
}
