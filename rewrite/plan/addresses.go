package plan

import (
	"strings"

	"mbusproxy/rewrite/lex"
	"mbusproxy/sqlfuncs"
)

// Address says to which queue and consumer a call goes, as far as its text says.
type Address struct {
	Func            *sqlfuncs.Func
	Queue, Consumer Source
}

// own is the address without the text around its names.
func (a Address) own() Address {
	a.Queue.Text, a.Consumer.Text = strings.Clone(a.Queue.Text), strings.Clone(a.Consumer.Text)
	return a
}

// Source is where the value of an argument comes from; the zero value: it is not known.
type Source struct {
	Text  string // in the client's encoding
	Param int    // n of $n, whose value Bind gives; 0: Text is the value
	cast  bool   // the text casts the parameter
}

// maxAddresses bounds what Addresses returns.
const maxAddresses = 8

// known reports whether something is known of the value.
func (s Source) known() bool { return s != Source{} }

// Addresses returns the addresses of the first calls of the text. alone says that the text is one
// call and nothing else, so that the rows of the reply are what the call gives. It reads the text
// each time, unless texts with the same skeleton have been read before.
func (p *Plan) Addresses() (addresses []Address, alone bool) {
	if addresses, ok := p.commonAddresses(); ok {
		return addresses, p.alone
	}
	read := p.readAddresses()
	addresses = make([]Address, len(read))
	for i := range read {
		addresses[i] = read[i].Address
	}
	return addresses, p.alone
}

// addressing is an Address, and where in the text its values stand.
type addressing struct {
	Address
	queueAt, consumerAt int // behind the quote of a literal; 0: in none
	// odd says that a queue or consumer was given by a literal that says nothing of it, as an empty one.
	odd bool
}

// readAddresses reads the addresses in the text.
func (p *Plan) readAddresses() []addressing {
	parseable := p.enc.Parseable(p.client)
	served := p.calls[:min(len(p.calls), maxAddresses)]
	addresses := make([]addressing, 0, len(served))
	for i := range served {
		c := &served[i]
		a := addressing{Address: Address{Func: c.fn}}
		if c.fn.Implied > 0 { // else its name says nothing of a queue
			if match, ok := sqlfuncs.Lookup(c.name); ok && match.Func == c.fn && len(match.Readings) == 1 {
				for i, text := range match.Readings[0] {
					a.set(&c.fn.Params[i], argument{Source: Source{Text: text}})
				}
			}
		}
		if last := a.lastWanted(); last >= 0 {
			p.arguments(parseable, c.Span, func(i int, given argument) (more bool) {
				a.give(i, given)
				return i < last || given.name != ""
			})
		}
		if !a.Consumer.known() {
			for i := range c.fn.Params {
				a.set(&c.fn.Params[i], argument{Source: Source{Text: c.fn.Params[i].Default}})
			}
		}
		addresses = append(addresses, a)
	}
	return addresses
}

// lastWanted returns the place of the last argument that matters, where all are given by position;
// -1: the name of the function says it all.
func (a *addressing) lastWanted() (place int) {
	place = -1
	visible := a.Func.Visible()
	for i := range visible {
		if p := &visible[i]; p.Name == "qname" && !a.Queue.known() || p.Name == "cname" && !a.Consumer.known() {
			place = i
		}
	}
	return place
}

// set takes a value if the parameter is a queue or a consumer.
func (a *addressing) set(p *sqlfuncs.Param, from argument) {
	switch p.Name {
	case "qname":
		if !a.Queue.known() {
			a.Queue, a.queueAt = from.Source, from.at
		}
	case "cname":
		if !a.Consumer.known() {
			a.Consumer, a.consumerAt = from.Source, from.at
		}
	default:
		return
	}
	a.odd = a.odd || from.at > 0 && !from.known()
}

// give takes the argument that stands at that place.
func (a *addressing) give(place int, given argument) {
	visible := a.Func.Visible()
	for i := range visible {
		p := &visible[i]
		named := given.name != "" && (given.name == p.Name || given.name == p.Alias)
		if named || given.name == "" && i == place && (!a.Func.EitherOrder || place >= 2) {
			a.set(p, given)
			return
		}
	}
}

// argument is an argument of a call: "" for the name of one given by position, and no Source where it is an expression.
type argument struct {
	name string
	Source
	at int // behind the quote of a literal; 0: it is none
}

// maxArguments bounds how many arguments of a call are read.
const maxArguments = 16

// arguments reads the arguments of the call at a place of the text, one after the other, as long as more are wanted.
func (p *Plan) arguments(parseable string, call lex.Span, take func(place int, a argument) (more bool)) {
	l := lex.Lexer{Text: parseable[:call.End], Escapes: p.escapes, Pos: call.Start}
	t := l.Next()
	for t.Kind != lex.End && t.Kind != lex.Open && p.client[t.Start:t.End] != "(" {
		t = l.Next()
	}
	var room [maxTokens + 1]lex.Token
	tokens := room[:0]
	for depth, place := 1, 0; depth > 0 && place < maxArguments; {
		t = l.Next()
		if t.Kind == lex.End || t.Kind == lex.Open {
			return
		}
		text := ""
		if t.Kind == lex.Symbol {
			text = p.client[t.Start:t.End]
		}
		switch text {
		case "(", "[":
			depth++
		case ")", "]":
			depth--
		}
		if depth == 0 || depth == 1 && text == "," {
			if len(tokens) > 0 && !take(place, p.argument(tokens)) {
				return
			}
			tokens, place = tokens[:0], place+1
			continue
		}
		if len(tokens) <= maxTokens {
			tokens = append(tokens, t)
		}
	}
}

// maxTokens is how many tokens an argument may have that is read: a name, an arrow, a value and a cast.
const maxTokens = 5

// argument reads one argument.
func (p *Plan) argument(tokens []lex.Token) (a argument) {
	text := func(i int) string { return p.client[tokens[i].Start:tokens[i].End] }
	if len(tokens) > 2 && (text(1) == "=>" || text(1) == ":=") {
		a.name, tokens = sqlfuncs.Fold(strings.Trim(text(0), `"`)), tokens[2:]
	}
	if len(tokens) > maxTokens || len(tokens) > 1 && text(1) != "::" {
		return a
	}
	switch tokens[0].Kind {
	case lex.String, lex.Prefixed:
		a.at = tokens[0].Start + 1
		if value, ok := lex.DecodeLiteral(text(0), p.enc, p.escapes); ok {
			a.Text = value
		}
	case lex.Param:
		for _, c := range text(0)[1:] {
			if a.Param = a.Param*10 + int(c-'0'); a.Param > 1<<16 {
				return argument{name: a.name}
			}
		}
		a.cast = len(tokens) > 1
	}
	return a
}
