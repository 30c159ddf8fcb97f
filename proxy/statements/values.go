package statements

import "mbusproxy/proxy/wire"

// ValueSignaler is a Plan whose Signals depend on values that are bound to parameters.
type ValueSignaler interface {
	Plan
	// ValueSignals returns what reads these values, which keeps nothing of the plan; nil for none.
	ValueSignals() ValueSignals
}

// ValueSignals reads values of parameters. It is immutable.
type ValueSignals interface {
	// Parameters returns the numbers of the parameters, which are texts to the plan.
	Parameters() []int
	// Of says what the value of one of them means. It keeps nothing of the value.
	Of(value wire.Value) Signals
}
