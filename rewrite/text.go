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
