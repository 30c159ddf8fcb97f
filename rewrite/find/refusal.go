package find

import (
	"fmt"
	"strings"

	"mbusproxy/rewrite/plan"
	"mbusproxy/sqlfuncs"
)

const codeUndefinedFunction = "42883"

// refuseArguments returns the refusal of a call whose arguments do not fit, in the words of Postgres.
func refuseArguments(c *Call, types []string, detail string) *plan.Refusal {
	hint := "The " + plan.RoutineKind(c.Match.Func) + " is " + c.Match.Func.Signature(c.Match.Name) + "."
	if c.Match.Func.Pattern != "" && detail == tooManyArguments {
		hint += " The queue is what stands for <q> in mbus4." + c.Match.Func.DisplayName() + "."
	}
	switch {
	case c.Match.Func.Name == "consume" && (detail == tooManyArguments || strings.HasPrefix(detail, noParameter) || strings.HasPrefix(detail, "Parameter wait ")):
		hint += " For several messages at once there is mbus4.consumen(qname, amt => 10)."
	case c.Match.Func.Name == "create_queue" && len(types) == 1:
		hint += " ncons limits nothing: mbus4.create_queue(qname, 1) will do."
	}
	return &plan.Refusal{
		Code:    codeUndefinedFunction,
		Message: fmt.Sprintf("%s %s.%s(%s) does not exist", plan.RoutineKind(c.Match.Func), sqlfuncs.Schema, c.Match.Name, strings.Join(types, ", ")),
		Detail:  detail,
		Hint:    hint,
		Offset:  c.Start,
	}
}

// Details of such refusals.
const (
	tooManyArguments = "Too many arguments."
	noParameter      = "It has no parameter named " // and its name
)
