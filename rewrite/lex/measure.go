package lex

// Size is what a text can cost a parser.
type Size struct {
	Tokens int
	// Depth is at least the number of levels of the text's parse tree divided by a constant: see meter.
	Depth int
	// Open says that the text ends within a token. Then the rest of it counts for nothing.
	Open bool
}

// Measure measures a text as far as the bounds: it stops at the first token by which the size is beyond
// one of them.
func Measure(text string, escapes bool, bounds Size) Size {
	l := Lexer{Text: text, Escapes: escapes}
	var m meter
	m.frames = m.first[:1]
	for n := 0; ; n++ {
		t := l.Next()
		switch {
		case t.Kind == End || t.Kind == Open:
			return Size{n, m.finish(), t.Kind == Open}
		case n == bounds.Tokens:
			return Size{n + 1, m.finish(), false}
		}
		m.token(text, t)
		if len(m.frames) > bounds.Depth {
			return Size{n + 1, len(m.frames), false}
		}
	}
}

// meter bounds the depth of a parse tree by counting tokens.
//
// A level of the tree takes a token at least, but for a fixed number of levels that come with the
// few rules that have no token of their own. So the tokens of a text bound its depth, and what has
// to be found is which of them cannot lie on one path. The text falls into frames, what stands in
// brackets and what stands between CASE and END. Within a frame the tokens
//
//	,  ;  and  or  when  then  else
//
// separate what is side by side in the tree: no rule that is recursive without brackets has them between its
// parts, with these exceptions, whose tokens count for the whole frame or do not separate:
//
//   - UNION, INTERSECT, EXCEPT and JOIN have commas, AND and OR in what they join. They separate, too, for what
//     they join is side by side, but each is a level above the rest, so they count for the whole frame.
//   - The AND of BETWEEN belongs to it, and its right side may begin with NOT and be such a test again.
//   - CREATE FUNCTION … BEGIN ATOMIC holds statements, such as CREATE FUNCTION. From there on nothing
//     is forgotten at a semicolon, and the ATOMICs of the text count for all of it.
//   - AND and OR are lists in the tree, and WHEN, THEN and ELSE parts of one node, the CASE.
//
// The depth of a frame is then that of its deepest part, which is the number of its tokens and the depth of the
// deepest frame in it, and what counts for the whole frame. Where CASE and END are names (select 1 as end), a
// frame that is none begins, or none ends: END ends a frame only if CASE began it, and a comma or bracket ends
// those that are open, for no CASE can hold one.
type meter struct {
	frames []frame // the innermost is the last
	first  [24]frame
	atomic int
	// before is the token before.
	before word
}

type frame struct {
	part    int32 // tokens since the last separator
	inner   int32 // depth of the deepest frame among them
	deepest int32 // of the parts before
	whole   int32 // what counts for all parts
	former  int32 // depth of the deepest of the statements before
	between int32 // BETWEENs without their AND
	isCase  bool
}

// depth is that of a frame that ends.
func (f *frame) depth() int32 { return max(f.former, f.whole+max(f.deepest, f.part+f.inner)) }

// separate begins the next part.
func (f *frame) separate() {
	f.deepest = max(f.deepest, f.part+f.inner)
	f.part, f.inner = 0, 0
}

// word are the tokens that the meter tells apart.
type word uint8

const (
	other word = iota
	isAnd
	isAs
	isAtomic
	isBetween
	isBranch // WHEN, THEN, ELSE
	isCaseWord
	isEnd
	isJoin // UNION, INTERSECT, EXCEPT too
	isOr
	isDot
)

func wordOf(s string) word {
	if len(s) > 9 {
		return other
	}
	var b [9]byte
	for i := range len(s) {
		b[i] = s[i] | 0x20 // letters only: _ and digits become no letters
	}
	switch string(b[:len(s)]) {
	case "and":
		return isAnd
	case "as":
		return isAs
	case "atomic":
		return isAtomic
	case "between":
		return isBetween
	case "when", "then", "else":
		return isBranch
	case "case":
		return isCaseWord
	case "end":
		return isEnd
	case "join", "union", "intersect", "except":
		return isJoin
	case "or":
		return isOr
	}
	return other
}

func (m *meter) top() *frame { return &m.frames[len(m.frames)-1] }

// close ends the innermost frame.
func (m *meter) close() {
	depth := m.top().depth()
	m.frames = m.frames[:len(m.frames)-1]
	f := m.top()
	f.inner = max(f.inner, depth)
}

// closeCases ends the frames of CASE that are open in the innermost brackets.
func (m *meter) closeCases() {
	for m.top().isCase {
		m.close()
	}
}

func (m *meter) token(text string, t Token) {
	before := m.before
	m.before = other
	if t.Kind == Symbol && (text[t.Start] == ')' || text[t.Start] == ']') {
		m.symbol(text[t.Start]) // it counts with the bracket that opens
		return
	}
	m.top().part++
	switch t.Kind {
	case Symbol:
		m.symbol(text[t.Start])
	case Word:
		w := wordOf(text[t.Start:t.End])
		if before != isDot { // else it is part of a name
			m.before = w
			m.word(w, before)
		}
	}
}

func (m *meter) symbol(c byte) {
	switch c {
	case '(', '[':
		m.frames = append(m.frames, frame{})
	case ')', ']':
		m.closeCases()
		if len(m.frames) > 1 {
			m.close()
		}
	case ',':
		m.closeCases()
		m.top().separate()
		m.top().between = 0
	case ';':
		m.closeCases()
		f := m.top()
		f.separate()
		if f.between = 0; m.atomic == 0 {
			*f = frame{former: f.depth()}
		}
	case '.':
		m.before = isDot
	}
}

func (m *meter) word(w, before word) {
	f := m.top()
	switch w {
	case isAnd:
		if f.between > 0 {
			f.between--
			return
		}
		f.separate()
	case isOr, isBranch:
		f.separate()
	case isBetween:
		f.between++
	case isJoin:
		f.separate()
		f.whole++
	case isAtomic:
		m.atomic++
	case isCaseWord:
		if before != isAs {
			m.frames = append(m.frames, frame{isCase: true})
		}
	case isEnd:
		if f.isCase && before != isAs {
			m.close()
		}
	}
}

// finish returns the depth of the text.
func (m *meter) finish() int {
	for len(m.frames) > 1 {
		m.close()
	}
	return int(m.top().depth()) + m.atomic
}
