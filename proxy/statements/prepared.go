package statements

// Preparable is a Plan whose text may be run by a prepared statement.
type Preparable interface {
	Plan
	// Prepared returns how the text of a Query is run, or nil.
	Prepared() PreparedPlan
	// Repeatable reports whether a statement that is prepared from SQL does for all times that the
	// text comes in a Parse.
	Repeatable() bool
	// Repeated returns how; it is called where Repeatable is true.
	Repeated() Repeated
}

// Repeated is how the text of a Parse is run by a statement that is prepared once.
type Repeated struct {
	Plan // SQL is what is prepared
	// Text is the same for all texts that the statement does for.
	Text string
	// Extra is the value, as a text, of one more parameter behind the client's, of which there are
	// as many as Parameters; "": there is none.
	Extra      string
	Parameters int
}

// PreparedPlan is the Plan of a text that is run by a prepared statement. SQL is the text of that statement, one that
// returns rows; EditReport is for reports about it and about its parameters.
type PreparedPlan interface {
	Plan
	// ID is the same for all texts that are run by one statement, and for no others. It consists of digits.
	ID() string
	// Values returns the values of its parameters $1, $2 …, as texts in the client's encoding.
	Values() []string
}
