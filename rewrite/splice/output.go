package splice

import (
	"strings"

	"mbusproxy/rewrite/lex"
)

// Output is what a Text is written to.
type Output struct {
	b     strings.Builder
	segs  []segment
	last  byte // the last byte written
	depth int  // how many edits are being written inside one another
}

// maxDepth bounds edits inside edits. Calls nest less deep in anything that the parser takes.
// Beyond it whoever makes the edits must be wrong, and a panic ends one session where endless
// recursion would end the process.
const maxDepth = 10_000

// Write adds text of ours that stands for the client's byte anchor.
func (o *Output) Write(text string, anchor int) {
	if text == "" {
		return
	}
	o.segs = append(o.segs, segment{out: o.b.Len(), in: anchor})
	o.separate(text)
	o.b.WriteString(text)
	o.last = text[len(text)-1]
}

// WriteSecret writes the place of the secret.
func (o *Output) WriteSecret(anchor int) {
	o.segs = append(o.segs, segment{out: o.b.Len(), in: anchor, secret: true})
	o.b.WriteString(BlankSecret)
	o.last = BlankSecret[SecretLen-1]
}

// WriteTrace writes the place of the trace context, a literal with that many bytes.
func (o *Output) WriteTrace(anchor, width int) {
	o.segs = append(o.segs, segment{out: o.b.Len(), in: anchor, trace: true})
	o.b.WriteString("'" + strings.Repeat(" ", width-2) + "'")
	o.last = '\''
}

// Text returns what was written.
func (o *Output) Text() Text { return Text{o.b.String(), o.segs} }

// Pieces returns how many pieces were written.
func (o *Output) Pieces() int { return len(o.segs) }

// Take adds pieces [from, to) of another text.
func (o *Output) Take(t Text, from, to int) {
	if from >= to {
		return
	}
	start, end := t.startOf(from), t.startOf(to)
	for _, s := range t.segs[from:to] {
		s.out += o.b.Len() - start
		o.segs = append(o.segs, s)
	}
	o.b.WriteString(t.SQL[start:end])
	o.last = t.SQL[end-1]
}

// separate writes a blank where text and what stands before it would become one word.
func (o *Output) separate(text string) {
	if lex.InWord(o.last) && lex.InWord(text[0]) {
		o.b.WriteByte(' ')
	}
}
