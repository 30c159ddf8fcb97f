package sqlfuncs

import (
	"slices"
	"strings"
)

// Effect says what a call does to the database, and with it where it can be served.
type Effect uint8

const (
	// Reads marks functions that change nothing and may be evaluated anywhere.
	Reads Effect = iota
	// Draws marks functions that only draw a number from a sequence: each evaluation gives
	// another result, but nothing is lost when one is evaluated once too often.
	Draws
	// Writes marks functions that change rows; how often they run matters.
	Writes
	// Native marks functions that are served by an expression which the server itself evaluates as
	// it does a call of a volatile function: so they may stand wherever such a call may, but the expression must
	// stand there and nowhere else, once.
	Native
)

// Param is one parameter of a function.
type Param struct {
	Name     string // its name in the manual, unless ByAlias
	Alias    string // the name legacy code uses, or ""
	ByAlias  bool   // its name in the manual is Alias; Name is that of the same parameter of the function that Serves
	Type     Type
	Optional bool
	Default  string // the value when omitted, as text; "" with Optional means null
	// Rare says that the arguments that SQL is given hold the parameter only where a call gives it.
	Rare bool
	// Instead is the name of a parameter, one of which a call must give; or "". Both are Optional.
	Instead string
	// Computed says, of a parameter of a function with a Prelude, that its prelude statement can evaluate the argument.
	Computed bool
}

// Shown is the name that the manual and messages use.
func (p Param) Shown() string {
	if p.ByAlias {
		return p.Alias
	}
	return p.Name
}

// Func is one function of the catalogue. Values are shared and must not be changed.
type Func struct {
	Name    string // the plain name, for example "consume"
	Pattern string // for families such as post_<q>: the prefix "post_"; else ""
	By      bool   // the family's name holds a consumer as well: consume_<q>_by_<c>
	Params  []Param
	Implied int // how many leading Params the name gives rather than the caller
	// Implies are the values that the name of a plain function gives to its Implied parameters.
	Implies []string
	Result  Type
	Set     bool // returns a set
	Effect  Effect
	Serves  string // name of the function that does the work; families share their base's
	// Selector is the name of the parameter that holds a selector, which must be checked before the
	// call runs; or "".
	Selector string
	// Checked are the names of further parameters whose values must be checked before the call runs.
	Checked []string
	// Signals says that the engine is told when a transaction that called the function has ended.
	Signals bool
	// Condition is the name of the parameter that holds an SQL expression over t, a message, which
	// may become part of the statement where it is a literal; or "".
	Condition string
	// EitherOrder says that the first two parameters, a queue and a consumer, come in the other order in calls of old
	// programs: where both are given by position, the call is read the way in which one of them names a queue.
	EitherOrder bool
	// Amount is the name of the parameter that bounds how many rows a set has, and of which null is no bound; or "".
	Amount string
	// Wait is the name of the parameter that says how long a call waits where there is nothing for
	// it yet, or "". Its functions do not know it, and its texts only where it WaitsForOne: the
	// wait comes before the statement.
	Wait string
	// Prelude says that a prelude statement does the work, before the statement that holds the call; what
	// serves the call only reads the outcome. Its Effect is Native.
	Prelude bool
	// Procedure says that it is called with CALL. Its Prelude may end the transaction.
	Procedure bool
}

// WaitsForOne reports whether a call that waits does so for the one message that it names.
func (f *Func) WaitsForOne() bool {
	return f.Wait != "" && (f.Serves == "take" || f.Serves == "take_from")
}

// Takes reports whether calls take messages, so that the transaction holds them until it ends. A
// function that returns no set takes one at most.
func (f *Func) Takes() bool {
	switch f.Serves {
	case "consume", "consumen", "consume_json", "dyn_consume", "take", "take_from", "lease", "get_next_message":
		return true
	}
	return false
}

// Arguments returns the parameters that the SQL of calls is given: without those that are Rare and not given.
func (f *Func) Arguments(given map[string]bool) []Param {
	return slices.DeleteFunc(slices.Clone(f.Params), func(p Param) bool { return p.Rare && !given[p.Name] })
}

// Visible returns the parameters that a caller may write.
func (f *Func) Visible() []Param { return f.Params[f.Implied:] }

// DisplayName is the name as the manual shows it, for example "consume_<q>_by_<c>".
func (f *Func) DisplayName() string {
	switch {
	case f.Pattern != "" && f.By:
		return f.Pattern + "<q>_by_<c>"
	case f.Pattern != "":
		return f.Pattern + "<q>"
	}
	return f.Name
}

// Signature returns the declaration as Postgres would show it, for hints and the manual.
// name is the name as called, which for families holds the queue.
func (f *Func) Signature(name string) string {
	var b strings.Builder
	b.WriteString("mbus4." + name + "(")
	for i, p := range f.Visible() {
		if i > 0 {
			b.WriteString(", ")
		}
		b.WriteString(p.Shown() + " " + p.Type.String())
		switch {
		case p.Default != "":
			b.WriteString(" default '" + p.Default + "'")
		case p.Optional:
			b.WriteString(" default null")
		}
	}
	b.WriteByte(')')
	if f.Procedure {
		return b.String()
	}
	b.WriteString(" returns ")
	if f.Set {
		b.WriteString("setof ")
	}
	b.WriteString(f.Result.String())
	return b.String()
}
