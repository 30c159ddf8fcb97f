package selector

import "strings"

// Whoever posts evaluates the selectors of others. So what an evaluation may take is bounded when the selector is
// compiled: what is dear notes its cost with the SQL that it was made into, and the condition costs what stands in it,
// as often as it does. Most selectors are evaluated in a hundredth of that, for most texts are short and few things fit.
const (
	// usualText is how many bytes the bound takes texts of a message to have. It grows with longer ones, as what it
	// takes to post and read them does.
	usualText = 8 << 10
	// maxCost is the bound, in nanoseconds of a processor of 2020.
	maxCost = 50_000_000
	// leastCost is what is not worth a note.
	leastCost = 1000
	// byPattern is what it takes to compile a regular expression, for each of its states.
	byPattern = 50_000
)

// cost is what evaluating a part takes.
type cost struct {
	nanoseconds int // besides what its own parts take
	at          int // where it stands in the selector
}

// costs notes what e takes besides its operands.
func (c *compiler) costs(e *expr, nanoseconds int) *expr {
	if nanoseconds >= leastCost {
		c.dear[e.val] = cost{nanoseconds, e.at}
	}
	return e
}

// usual is how many bytes a text has, or an element of an array, where those of the message have usualText.
func (e *expr) usual() int {
	switch {
	case e.lit != nil:
		return len(e.lit.text)
	case e.size < 0:
		return usualText
	case e.size <= usualText:
		return e.size
	}
	return max(usualText, e.size/(maxHandled/usualText))
}

// affordable refuses a condition that could take too long, and says where.
func (c *compiler) affordable(condition string) *Error {
	total, most, at := 0, 0, 0
	for sql, one := range c.dear {
		n := one.nanoseconds * strings.Count(condition, sql)
		total += n
		if n > most || n == most && one.at < at {
			most, at = n, one.at
		}
	}
	for _, one := range c.regexps {
		total += one.nanoseconds
		if one.nanoseconds > most {
			most, at = one.nanoseconds, one.at
		}
	}
	if total <= maxCost {
		return nil
	}
	return refuse(at, codeTooComplex, hintCheaper, "evaluating the selector could take %d ms for one message, it may take %d; this takes most of it", total/1_000_000, maxCost/1_000_000)
}

// byteCost is what a function takes for each byte of its first argument, in nanoseconds; set is how many characters its second one has.
func byteCost(name string, set int) int {
	switch name {
	case "lower", "upper", "initcap":
		return 40
	case "translate":
		return 5 + 10*set
	case "btrim", "ltrim", "rtrim":
		return 3 + 10*set
	case "string_to_array":
		return 40 + set
	case "starts_with":
		return 1
	case "strpos", "position", "split_part":
		return 5 + set/2
	case "replace":
		return 20 + set/2
	}
	return 7
}

// textCost notes what a call of a function takes whose first argument is a text.
func (c *compiler) textCost(e *expr, name string, args []*expr) *expr {
	set := 0
	if len(args) > 1 && args[1].lit != nil {
		set = len(args[1].lit.text)
	}
	n := args[0].usual() * byteCost(name, set)
	if e.typ == text {
		n += e.usual()
	}
	return c.costs(e, n)
}

// compareCost notes what a comparison of texts takes, alone or with each of an array.
func (c *compiler) compareCost(e *expr, name string, a, b *expr) *expr {
	n := 0
	switch {
	case a.typ != text && b.typ.isArray():
		n = usualText
	case a.typ != text:
	case b.typ.isArray() && b.lit == nil:
		n = 40 * usualText
	case name == "=" || name == "<>":
		n = min(a.usual(), b.usual())
	default:
		n = 2 * max(a.usual(), b.usual())
	}
	if b.typ.isArray() && b.lit != nil {
		n = b.lit.elems * (n + 20)
	}
	return c.costs(e, n)
}
