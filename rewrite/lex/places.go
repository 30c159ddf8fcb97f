package lex

// Places tells the positions of many bytes of a long text, as Postgres counts them, without reading it from its beginning
// each time.
type Places struct {
	text string
	enc  Encoding
	// marks are the first characters at or behind every markEvery-th byte; nil where each byte is a character.
	marks []mark
	last  mark // that was asked for
}

// mark is where a character stands, counted from 0.
type mark struct{ byte, char int }

const markEvery = 4096

// NewPlaces reads the text.
func NewPlaces(text string, enc Encoding) *Places {
	p := &Places{text: text, enc: enc}
	if enc == singleByte || isASCII(text) {
		return p
	}
	var at mark
	for at.byte < len(text) {
		if at.byte >= markEvery*len(p.marks) {
			p.marks = append(p.marks, at)
		}
		at = p.next(at)
	}
	p.marks = append(p.marks, at)
	return p
}

func (p *Places) next(m mark) mark { return mark{m.byte + p.enc.CharLen(p.text[m.byte:]), m.char + 1} }

// Characters returns how many characters stand before a byte: Encoding.CharPosition less 1.
func (p *Places) Characters(off int) int {
	off = min(off, len(p.text))
	if p.marks == nil {
		return off
	}
	from := p.marks[min(off/markEvery, len(p.marks)-1)]
	for from.byte > off { // a character began before the mark
		from = p.marks[max(0, off/markEvery-1)]
	}
	if p.last.byte <= off && p.last.byte > from.byte {
		from = p.last
	}
	for from.byte < off {
		from = p.next(from)
	}
	p.last = from
	return from.char
}
