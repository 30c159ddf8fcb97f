package place

import (
	"fmt"

	"mbusproxy/rewrite/plan"
)

// MaxNesting is in the arguments of how many calls, one within the other, a call may stand. Each is a level of subqueries,
// or two, for which the server takes time with the square of their number: 32 calls take it 0.2 s, 200 take it 6 s.
const MaxNesting = 16

const codeTooComplex = "54001" // statement_too_complex

// checkNesting refuses calls that are nested too deeply. They are in the order of their beginnings.
func checkNesting(calls []*call) *plan.Refusal {
	var around []*call
	for _, c := range calls {
		for len(around) > 0 && around[len(around)-1].End <= c.Start {
			around = around[:len(around)-1]
		}
		if len(around) > MaxNesting {
			return &plan.Refusal{
				Code:    codeTooComplex,
				Message: fmt.Sprintf("calls are nested too deeply: this one stands in the arguments of more than %d others", MaxNesting),
				Hint:    "Let another statement call the inner ones, and pass what they return.",
				Offset:  c.Start,
			}
		}
		around = append(around, c)
	}
	return nil
}
