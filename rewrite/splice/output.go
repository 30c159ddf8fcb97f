package splice

import (
	"strings"

	"mbusproxy/rewrite/lex"
)

// writeSecret writes the place of the secret.
func (o *Output) writeSecret(anchor int) {
	o.segs = append(o.segs, segment{out: o.b.Len(), in: anchor, secret: true})
	o.b.WriteString(BlankSecret)
	o.last = BlankSecret[SecretLen-1]
}

// WriteMarked writes text of the engine's with {k} in it: the call's number, and in a literal the secret
// behind it. other gives what stands for any other placeholder, or writes it; nil where there is none.
func (o *Output) WriteMarked(text, number string, anchor int, other func(placeholder string) (string, func())) {
	literal := false
	var b strings.Builder
	flush := func() {
		o.Write(b.String(), anchor)
		b.Reset()
	}
	for {
		open := strings.IndexByte(text, '{')
		length := strings.IndexByte(text[max(open, 0):], '}') + 1
		if open < 0 || length == 0 {
			break
		}
		b.WriteString(text[:open])
		literal = literal != (strings.Count(text[:open], "'")%2 == 1)
		placeholder := text[open : open+length]
		text = text[open+length:]
		if placeholder == "{k}" {
			b.WriteString(number)
			if !literal {
				continue
			}
			b.WriteByte(' ')
			placeholder = "{secret}"
		}
		if placeholder == "{secret}" {
			flush()
			o.writeSecret(anchor)
			continue
		}
		fill, emit := placeholder, (func())(nil) // unknown ones stay, such as {1,32} in a regular expression
		if other != nil {
			fill, emit = other(placeholder)
		}
		b.WriteString(fill)
		if emit != nil {
			flush()
			emit()
		}
	}
	b.WriteString(text)
	flush()
}

// WithMark fills {k} in text of the engine's that goes to the server at once, rather than with a plan: the
// call's number, and in a literal the secret behind it.
func WithMark(text, number, secret string) string {
	o := &Output{}
	o.WriteMarked(text, number, 0, nil)
	return o.Text().WithSecret(secret)
}

// Output is the rewritten text while it is built.
type Output struct {
	b     strings.Builder
	segs  []segment
	last  byte // the last one written
	depth int  // of edits inside edits
}

// maxDepth bounds edits inside edits. Calls nest less deep in anything the parser takes; beyond it
// the rewriter itself must be wrong, and a panic ends one session where endless recursion would end
// the process.
const maxDepth = 10_000

// Write adds text of our own that stands for the client's byte anchor.
func (o *Output) Write(text string, anchor int) {
	if text == "" {
		return
	}
	o.segs = append(o.segs, segment{out: o.b.Len(), in: anchor})
	o.separate(text)
	o.b.WriteString(text)
	o.last = text[len(text)-1]
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
