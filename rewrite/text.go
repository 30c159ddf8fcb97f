package rewrite

import (
	"sort"
	"strings"
)

// segment says where a piece of the rewritten text came from.
type segment struct {
	out  int  // byte offset in the rewritten text
	in   int  // byte offset in the client's text
	copy bool // copied byte for byte; otherwise all of it stands for the client's byte `in`
	// secret is set where the session's secret goes.
	secret bool
}

// spliced is a text that was put together from pieces, each of which knows where it came from. It is immutable.
type spliced struct {
	sql  string
	segs []segment
}

// pieces returns the number of the pieces.
func (t spliced) pieces() int { return len(t.segs) }

// startOf returns where piece i starts.
func (t spliced) startOf(i int) int {
	if i == len(t.segs) {
		return len(t.sql)
	}
	return t.segs[i].out
}

// segmentBytes is about what a segment takes, in bytes.
const segmentBytes = 24

// size is about how many bytes the text takes.
func (t spliced) size() int { return len(t.sql) + segmentBytes*len(t.segs) }

// origin returns which byte of the client's text stands behind the one at off, and whether it was copied from there;
// otherwise it is text of ours that stands for that byte.
func (t spliced) origin(off int) (in int, copied bool) {
	i := sort.Search(len(t.segs), func(i int) bool { return t.segs[i].out > off }) - 1
	if i < 0 {
		return 0, true
	}
	if s := t.segs[i]; s.copy {
		return s.in + off - s.out, true
	}
	return t.segs[i].in, false
}

// transfer makes the text for another client's text with the same skeleton from that for one. m maps places of the
// one to places of the other.
func (t spliced) transfer(text string, m mover) spliced {
	var b strings.Builder
	b.Grow(len(t.sql))
	segs := make([]segment, len(t.segs))
	for i, s := range t.segs {
		end := t.startOf(i + 1)
		segs[i] = segment{out: b.Len(), in: m.move(s.in), copy: s.copy, secret: s.secret}
		if s.copy {
			// What is copied starts and ends between lexemes, never inside a literal.
			b.WriteString(text[m.move(s.in):m.move(s.in+end-s.out)])
		} else {
			b.WriteString(t.sql[s.out:end])
		}
	}
	return spliced{b.String(), segs}
}

// withSecret returns the text with the secret in its places.
func (t spliced) withSecret(secret string) string {
	var b []byte
	for _, s := range t.segs {
		if s.secret {
			if b == nil {
				b = []byte(t.sql)
			}
			copy(b[s.out:s.out+secretLen], secret)
		}
	}
	if b == nil {
		return t.sql
	}
	return string(b)
}

// output is the rewritten text while it is built.
type output struct {
	b     strings.Builder
	segs  []segment
	last  byte // the last one written
	depth int  // of edits inside edits
}

// maxDepth bounds edits inside edits. Calls nest less deep in anything the parser takes; beyond it
// the rewriter itself must be wrong, and a panic ends one session where endless recursion would end
// the process.
const maxDepth = 10_000

// write adds text of our own that stands for the client's byte anchor.
func (o *output) write(text string, anchor int) {
	if text == "" {
		return
	}
	o.segs = append(o.segs, segment{out: o.b.Len(), in: anchor})
	o.separate(text)
	o.b.WriteString(text)
	o.last = text[len(text)-1]
}

// spliced returns what was written.
func (o *output) spliced() spliced { return spliced{o.b.String(), o.segs} }

// pieces returns how many pieces were written.
func (o *output) pieces() int { return len(o.segs) }

// take adds pieces [from, to) of another text.
func (o *output) take(t spliced, from, to int) {
	if from >= to {
		return
	}
	start, end := t.startOf(from), t.startOf(to)
	for _, s := range t.segs[from:to] {
		s.out += o.b.Len() - start
		o.segs = append(o.segs, s)
	}
	o.b.WriteString(t.sql[start:end])
	o.last = t.sql[end-1]
}

// separate writes a blank where text and what stands before it would become one word.
func (o *output) separate(text string) {
	if inWord(o.last) && inWord(text[0]) {
		o.b.WriteByte(' ')
	}
}

func inWord(c byte) bool {
	return c >= '0' && c <= '9' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c == '_' || c == '$' || c >= 0x80
}

// edit replaces a span of the client's text. emit writes what comes instead. An edit of an empty
// span inserts.
type edit struct {
	span
	emit func(o *output)
}

// newEdits returns no edits of a client's text.
func newEdits(text string) *edits { return &edits{text: text} }

// edits is a set of edits in which one may lie inside another; then the inner one takes effect only
// where the outer one renders the inner's text.
type edits struct {
	text   string
	list   []edit
	at     map[span]int // the last edit of a span that is not empty, in list
	sorted []edit       // the list in the order of rendering; nil: to be made
}

func (e *edits) add(sp span, emit func(o *output)) {
	if sp.start < sp.end {
		if e.at == nil {
			e.at = map[span]int{}
		}
		e.at[sp] = len(e.list)
	}
	e.list, e.sorted = append(e.list, edit{sp, emit}), nil
}

// mark returns what cut takes to come back to the edits that are there now.
func (e *edits) mark() int { return len(e.list) }

// cut takes the edits back that were added when there were n.
func (e *edits) cut(n int) {
	for _, d := range e.list[n:] {
		if e.at[d.span] >= n {
			delete(e.at, d.span)
		}
	}
	e.list, e.sorted = e.list[:n], nil
}

// replace changes what the edit of sp writes.
func (e *edits) replace(sp span, emit func(o *output)) {
	if i, ok := e.at[sp]; ok {
		e.list[i].emit, e.sorted = emit, nil
	}
}

// extend makes the edit of sp reach up to end: it renders what lies between and then calls emit.
// An insertion at end would do the same, but where an outer span ends there, too, it would be
// unclear whether it lies inside.
func (e *edits) extend(sp span, end int, emit func(o *output)) {
	i, ok := e.at[sp]
	if !ok {
		return
	}
	inner := e.list[i].emit
	wide := span{sp.start, end}
	e.list[i] = edit{wide, func(o *output) {
		inner(o)
		e.render(o, span{sp.end, end})
		emit(o)
	}}
	delete(e.at, sp)
	e.at[wide], e.sorted = i, nil
}

// insert adds text at byte pos; several at one place keep their order.
func (e *edits) insert(pos int, emit func(o *output)) { e.add(span{pos, pos}, emit) }

// render writes the client's text of sp with the edits inside it applied, those of all of sp
// included: an edit must not render its own span.
func (e *edits) render(o *output, sp span) {
	if o.depth++; o.depth > maxDepth {
		panic("rewrite: edits render each other")
	}
	defer func() { o.depth-- }()
	e.sort()
	pos := sp.start
	for i := e.from(pos); i < len(e.sorted) && e.sorted[i].start <= sp.end; {
		d := e.sorted[i]
		if d.end > sp.end {
			i++
			continue
		}
		e.copy(o, pos, d.start)
		d.emit(o)
		pos = d.end
		if i++; d.start < d.end {
			i += e.sortedFrom(i, pos) // those between lie inside the edit that was written
		}
	}
	e.copy(o, pos, sp.end)
}

// sort makes sorted: outer edits first where they start together, insertions before what stands there.
func (e *edits) sort() {
	if e.sorted != nil {
		return
	}
	e.sorted = append([]edit{}, e.list...)
	sort.SliceStable(e.sorted, func(i, j int) bool {
		a, b := e.sorted[i], e.sorted[j]
		if a.start != b.start {
			return a.start < b.start
		}
		if (a.start == a.end) != (b.start == b.end) {
			return a.start == a.end
		}
		return a.end > b.end
	})
}

// from returns the first of the sorted edits that starts at pos or behind.
func (e *edits) from(pos int) int { return e.sortedFrom(0, pos) }

// sortedFrom returns how many of the sorted edits from i on start before pos.
func (e *edits) sortedFrom(i, pos int) int {
	return sort.Search(len(e.sorted)-i, func(k int) bool { return e.sorted[i+k].start >= pos })
}

func (e *edits) copy(o *output, from, to int) {
	if from >= to {
		return
	}
	text := e.text[from:to]
	if inWord(o.last) && inWord(text[0]) {
		o.write(" ", from)
	}
	o.segs = append(o.segs, segment{out: o.b.Len(), in: from, copy: true})
	o.b.WriteString(text)
	o.last = text[len(text)-1]
}
