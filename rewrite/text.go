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

// take adds segments [from, to) of another plan's text.
func (o *output) take(p *Plan, from, to int) {
	if from >= to {
		return
	}
	start, end := p.startOf(from), p.startOf(to)
	for _, s := range p.segs[from:to] {
		s.out += o.b.Len() - start
		o.segs = append(o.segs, s)
	}
	o.b.WriteString(p.sql[start:end])
	o.last = p.sql[end-1]
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

// edits is a set of edits in which one may lie inside another; then the inner one takes effect only
// where the outer one renders the inner's text.
type edits struct {
	text string
	list []edit
}

func (e *edits) add(sp span, emit func(o *output)) {
	e.list = append(e.list, edit{sp, emit})
}

// replace changes what the edit of sp writes.
func (e *edits) replace(sp span, emit func(o *output)) {
	for i := range e.list {
		if e.list[i].span == sp {
			e.list[i].emit = emit
		}
	}
}

// extend makes the edit of sp reach up to end: it renders what lies between and then calls emit.
// An insertion at end would do the same, but where an outer span ends there, too, it would be
// unclear whether it lies inside.
func (e *edits) extend(sp span, end int, emit func(o *output)) {
	for i := range e.list {
		if e.list[i].span != sp {
			continue
		}
		inner := e.list[i].emit
		e.list[i] = edit{span{sp.start, end}, func(o *output) {
			inner(o)
			e.render(o, span{sp.end, end})
			emit(o)
		}}
		return
	}
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
	var inner []edit
	for _, d := range e.list {
		if d.start >= sp.start && d.end <= sp.end {
			inner = append(inner, d)
		}
	}
	// Outer edits first where they start together, insertions before what stands there.
	sort.SliceStable(inner, func(i, j int) bool {
		a, b := inner[i], inner[j]
		if a.start != b.start {
			return a.start < b.start
		}
		if (a.start == a.end) != (b.start == b.end) {
			return a.start == a.end
		}
		return a.end > b.end
	})
	pos := sp.start
	for _, d := range inner {
		if d.start < pos {
			continue // lies inside an edit that was already written
		}
		e.copy(o, pos, d.start)
		d.emit(o)
		pos = d.end
	}
	e.copy(o, pos, sp.end)
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
