package plan

import (
	"slices"
	"strconv"
	"unsafe"

	"mbusproxy/rewrite/lex"
)

// Common is what texts with one skeleton have in common: where they name queues and consumers, and
// their parameters. So it is read once for all of them. It is immutable, and keeps no plan.
type Common struct {
	calls []commonCall // as Addresses returns them
	parameters
}

// commonCall is the address of a call, whose queue and consumer may be given by literals of the
// text, of these indexes; -1: by none.
type commonCall struct {
	addressing
	queue, consumer int
}

// parameters is what is known of the parameters that a text names.
type parameters struct {
	last    int   // see Parameters
	queues  []int // see QueueParameters
	certain bool
}

// NewCommon reads one of the texts. literals are those of the plan's text.
func NewCommon(p *Plan, literals []lex.Literal) *Common {
	read := p.readAddresses()
	c := &Common{calls: make([]commonCall, len(read)), parameters: p.readParameters(read)}
	for i, a := range read {
		a.Address = a.own()
		c.calls[i] = commonCall{a, literalAt(literals, a.queueAt), literalAt(literals, a.consumerAt)}
	}
	return c
}

// Size returns about how many bytes c takes, which may be nil.
func (c *Common) Size() (size int) {
	if c == nil {
		return 0
	}
	for i := range c.calls {
		a := &c.calls[i]
		size += int(unsafe.Sizeof(*a)) + len(a.Queue.Text) + len(a.Consumer.Text)
	}
	return size
}

// literalAt returns the index of the literal that begins at a place; -1: there is none.
func literalAt(literals []lex.Literal, at int) int {
	return slices.IndexFunc(literals, func(l lex.Literal) bool { return !l.Number && l.Start == at })
}

// commonAddresses returns the addresses by what texts with the same skeleton have in common; false:
// the text must be read.
func (p *Plan) commonAddresses() (addresses []Address, ok bool) {
	if p.common == nil {
		return nil, false
	}
	addresses = make([]Address, len(p.common.calls))
	for i := range p.common.calls {
		c, a := &p.common.calls[i], &addresses[i]
		*a = c.Address
		if c.odd || !p.setLiteral(&a.Queue, c.queue) || !p.setLiteral(&a.Consumer, c.consumer) {
			return nil, false
		}
	}
	return addresses, true
}

// setLiteral sets a value that a literal of the text gives; false: the literal says nothing.
func (p *Plan) setLiteral(to *Source, literal int) (ok bool) {
	if literal < 0 {
		return true
	}
	l := p.literals[literal]
	to.Text, ok = lex.DecodeLiteral(p.client[l.Start-1:l.End+1], p.enc, p.escapes)
	return ok && to.Text != ""
}

// Parameters returns the number of the last parameter that the client's text names.
func (p *Plan) Parameters() (last int) { return p.knownParameters().last }

// QueueParameters returns the numbers of the parameters that give queues in Addresses. certain says
// that their values are the names: they are used as texts only. In other places the server may take
// a parameter for another type, whose value is another text to the call.
func (p *Plan) QueueParameters() (numbers []int, certain bool) {
	known := p.knownParameters()
	return known.queues, known.certain
}

func (p *Plan) knownParameters() parameters {
	if p.common != nil {
		return p.common.parameters
	}
	return p.readParameters(p.readAddresses())
}

// readParameters reads the parameters in the text, in which the calls have these addresses.
func (p *Plan) readParameters(calls []addressing) (read parameters) {
	read.certain = true
	for i := range calls {
		if from := calls[i].Queue; from.Param != 0 {
			read.certain = read.certain && !from.cast && !slices.Contains(read.queues, from.Param)
			read.queues = append(read.queues, from.Param)
		}
	}
	uses := 0 // of those that give queues
	l := lex.Lexer{Text: p.enc.Parseable(p.client), Escapes: p.escapes}
	for t := l.Next(); t.Kind != lex.End && t.Kind != lex.Open; t = l.Next() {
		if t.Kind != lex.Param {
			continue
		}
		if n, err := strconv.Atoi(p.client[t.Start+1 : t.End]); err == nil {
			read.last = max(read.last, n)
			if slices.Contains(read.queues, n) {
				uses++
			}
		}
	}
	read.certain = read.certain && uses == len(read.queues)
	return read
}
