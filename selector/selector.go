package selector

// Version changes whenever Compile may give another Condition for the same text.
const Version = 1

// Env is what a compiled selector depends on besides its text.
type Env struct {
	HstoreSchema string // the schema of the extension hstore, quoted where it must be
	Major        int    // of the server, e.g. 15
}

// Selector is a text that was checked. It is immutable.
type Selector struct {
	Text string // as given

	// Condition is SQL: an expression over the columns of a row t of type mbus4.qt_model that yields int4: 1
	// where the message matches, 0 where it does not, and -1 where evaluating the text would have raised an
	// error. It never raises one, names everything in full, reads the same under every setting of a session, holds no
	// subquery and calls immutable functions only.
	Condition string

	CanFail bool // Condition may yield -1

	// Simple describes the common form, a conjunction of  <hstore column> -> 'key' = 'constant'. It is nil
	// for any other form.
	Simple []Term
}

// Term is one comparison of a Simple selector.
type Term struct {
	Column     string // headers, properties or data
	Key, Value string
}

// Compile checks a text, which must not be blank. A refusal is an *Error.
func Compile(text string, env Env) (*Selector, error) {
	e, err := parseExpression(text)
	if err != nil {
		return nil, err
	}
	return compileSimple(text, e, env)
}
