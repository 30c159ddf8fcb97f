package plan

import (
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

const (
	// maxLabelled is how many calls a label names.
	maxLabelled = 3
	// maxLabelName is the longest name in a label, in bytes: as long as names of the server are.
	maxLabelName = 63
)

// Label says for people what the text calls, for example consume('orders'): the functions of its
// first calls as it names them, with the queue, and the consumer unless that is the default one,
// where they are literals, or $1 where they are parameters. Nothing else of the text is in it. It
// is short, and safe to show: a name that is long, or has in it what cannot be seen, is shown as an
// ellipsis.
func (p *Plan) Label() string {
	var b strings.Builder
	addresses, _ := p.Addresses()
	for i, a := range addresses {
		if i > 0 {
			b.WriteString(", ")
		}
		if i == maxLabelled {
			b.WriteString("…")
			break
		}
		b.WriteString(labelName(p.calls[i].name))
		if a.Func.Implied > 0 || a.Queue == (Source{}) { // the name says it
			continue
		}
		b.WriteString("(" + labelSource(a.Queue))
		if a.Consumer != (Source{}) && a.Consumer.Text != "default" {
			b.WriteString(", " + labelSource(a.Consumer))
		}
		b.WriteString(")")
	}
	return b.String()
}

func labelSource(from Source) string {
	if from.Param > 0 {
		return "$" + strconv.Itoa(from.Param)
	}
	return "'" + labelName(from.Text) + "'"
}

// labelName is a name that a client has written, if it can be shown.
func labelName(name string) string {
	if len(name) > maxLabelName || !utf8.ValidString(name) || strings.ContainsFunc(name, func(r rune) bool { return !unicode.IsPrint(r) || r == '\'' }) {
		return "…"
	}
	return name
}
