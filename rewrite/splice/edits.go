package splice

import (
	"sort"

	"mbusproxy/rewrite/lex"
)

// edit replaces a span of the client's text. emit writes what comes instead. An edit of an empty span inserts.
type edit struct {
	lex.Span
	emit func(o *Output)
}

// NewEdits returns a set without edits of a client's text.
func NewEdits(text string) *Edits { return &Edits{text: text} }

// Edits is a set of edits. One may lie inside another; then it takes effect only where the outer one renders its text.
type Edits struct {
	text   string
	list   []edit
	at     map[lex.Span]int // the last edit of a span that is not empty, in list
	sorted []edit           // the list in the order of rendering; nil: to be made
}

// Add adds an edit that replaces a span by what emit writes.
func (e *Edits) Add(sp lex.Span, emit func(o *Output)) {
	if sp.Start < sp.End {
		if e.at == nil {
			e.at = map[lex.Span]int{}
		}
		e.at[sp] = len(e.list)
	}
	e.list, e.sorted = append(e.list, edit{sp, emit}), nil
}

// Mark returns what to pass to Cut to come back to the edits that there are now.
func (e *Edits) Mark() int { return len(e.list) }

// Cut takes back the edits that were added since Mark returned n.
func (e *Edits) Cut(n int) {
	for _, d := range e.list[n:] {
		if e.at[d.Span] >= n {
			delete(e.at, d.Span)
		}
	}
	e.list, e.sorted = e.list[:n], nil
}

// Replace changes what the edit of sp writes, if there is one.
func (e *Edits) Replace(sp lex.Span, emit func(o *Output)) {
	if i, ok := e.at[sp]; ok {
		e.list[i].emit, e.sorted = emit, nil
	}
}

// Extend makes the edit of sp reach up to end: it renders what lies between and then calls emit. An
// insertion at end would do the same, but where an outer span ends there, too, it would not be
// clear whether it lies inside.
func (e *Edits) Extend(sp lex.Span, end int, emit func(o *Output)) {
	i, ok := e.at[sp]
	if !ok {
		return
	}
	inner := e.list[i].emit
	wide := lex.Span{Start: sp.Start, End: end}
	e.list[i] = edit{wide, func(o *Output) {
		inner(o)
		e.Render(o, lex.Span{Start: sp.End, End: end})
		emit(o)
	}}
	delete(e.at, sp)
	e.at[wide], e.sorted = i, nil
}

// Insert adds an insertion at byte pos. Several at one place keep their order.
func (e *Edits) Insert(pos int, emit func(o *Output)) { e.Add(lex.Span{Start: pos, End: pos}, emit) }

// Render writes the client's text of sp with the edits inside it, of which one may be of all of sp.
// So an edit must not render its own span.
func (e *Edits) Render(o *Output, sp lex.Span) {
	if o.depth++; o.depth > maxDepth {
		panic("rewrite: edits render each other")
	}
	defer func() { o.depth-- }()
	e.sort()
	pos := sp.Start
	for i := e.from(pos); i < len(e.sorted) && e.sorted[i].Start <= sp.End; {
		d := e.sorted[i]
		if d.End > sp.End {
			i++
			continue
		}
		e.Copy(o, pos, d.Start)
		d.emit(o)
		pos = d.End
		if i++; d.Start < d.End {
			i += e.sortedFrom(i, pos) // those between lie inside the edit that was written
		}
	}
	e.Copy(o, pos, sp.End)
}

// sort makes sorted. Of edits that begin together, insertions come first, then outer edits before inner ones.
func (e *Edits) sort() {
	if e.sorted != nil {
		return
	}
	e.sorted = append([]edit{}, e.list...)
	sort.SliceStable(e.sorted, func(i, j int) bool {
		a, b := e.sorted[i], e.sorted[j]
		if a.Start != b.Start {
			return a.Start < b.Start
		}
		if (a.Start == a.End) != (b.Start == b.End) {
			return a.Start == a.End
		}
		return a.End > b.End
	})
}

// from returns the index of the first of the sorted edits that begins at pos or behind it.
func (e *Edits) from(pos int) int { return e.sortedFrom(0, pos) }

// sortedFrom returns how many of the sorted edits from i on begin before pos.
func (e *Edits) sortedFrom(i, pos int) int {
	return sort.Search(len(e.sorted)-i, func(k int) bool { return e.sorted[i+k].Start >= pos })
}

// Copy writes the client's text as it is.
func (e *Edits) Copy(o *Output, from, to int) {
	if from >= to {
		return
	}
	text := e.text[from:to]
	if lex.InWord(o.last) && lex.InWord(text[0]) {
		o.Write(" ", from)
	}
	o.segs = append(o.segs, segment{out: o.b.Len(), in: from, copy: true})
	o.b.WriteString(text)
	o.last = text[len(text)-1]
}
