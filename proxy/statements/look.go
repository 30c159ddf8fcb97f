package statements

// Labeled is a Plan, or a Wait, that can say what it calls.
type Labeled interface {
	// Label says it in a short text that may be shown as it is; "" where nothing is called. It may
	// be called from anywhere.
	Label() string
}

// Taker is a Plan that says whether its calls take messages.
type Taker interface {
	Plan
	// Takes is called when a statement of the plan has run.
	Takes() Takes
}

// Takes says what a statement takes.
type Takes uint8

const (
	// TakesNothing is said of a plan without a call that takes messages.
	TakesNothing Takes = iota
	// TakesRows says that each row of the reply is a message that was taken.
	TakesRows
	// TakesSome says that the reply does not tell how many there are.
	TakesSome
)
