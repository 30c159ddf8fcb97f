package rewrite

import (
	"fmt"

	pg_query "github.com/pganalyze/pg_query_go/v6"

	"mbusproxy/sqlfuncs"
)

const codeInvalidTermination = "2D000" // invalid_transaction_termination

const codeWrongObjectType = "42809"

// What Postgres calls a routine in messages.
const (
	kindFunction  = "function"
	kindProcedure = "procedure"
)

// kindOfCalled returns the kind of routine that a function of ours is, as Postgres has it in messages.
func kindOfCalled(f *sqlfuncs.Func) string {
	if f.Procedure {
		return kindProcedure
	}
	return kindFunction
}

// checkProcedures refuses functions in CALL and procedures anywhere else, as Postgres does.
func (st *statement) checkProcedures(stmt *pg_query.Node) *Refusal {
	called := stmt.GetCallStmt().GetFunccall()
	for _, c := range st.calls {
		refuse := func(message, hint string) *Refusal {
			return &Refusal{
				Code:    codeWrongObjectType,
				Message: fmt.Sprintf(message, sqlfuncs.Schema+"."+c.match.Name),
				Hint:    hint,
				offset:  c.start,
			}
		}
		switch {
		case c.match.Func.Procedure && c.node != called:
			return refuse("%s(…) is a procedure", "To call a procedure, use CALL.")
		case !c.match.Func.Procedure && c.node == called:
			return refuse("%s(…) is not a procedure", "To call a function, use SELECT.")
		}
	}
	return nil
}

// procedure reports whether the statement calls one.
func (p *Plan) procedure(stmt int) bool {
	for _, s := range p.steps {
		if s.stmt == stmt && s.fn.Procedure {
			return true
		}
	}
	return false
}

// editTermination explains why the server did not let a procedure commit.
func (p *Plan) editTermination(r *Report) bool {
	if r.Code != codeInvalidTermination {
		return false
	}
	for i, c := range p.calls {
		if c.fn.Procedure && (p.step == 0 || p.step == i+1) {
			r.Where, r.Position = "", p.enc.charPosition(p.client, c.start)
			r.Hint = sqlfuncs.Schema + "." + c.name + " commits: call it outside a transaction block, as the only statement of a query."
			return true
		}
	}
	return false
}

// Tag is the command tag that the client expects of the plan's text where the server gives that of a
// step; "" where the server's is right.
func (p *Plan) Tag() string { return p.tag }

// EndsTransaction reports whether a step of the plan may end the transaction, and with it all portals.
func (p *Plan) EndsTransaction() bool {
	for _, s := range p.steps {
		if s.fn.Procedure {
			return true
		}
	}
	return false
}
