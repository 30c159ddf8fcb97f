package refuse

import (
	"context"

	"github.com/jackc/pgx/v5/pgproto3"

	"mbusproxy/proxy/statements"
	"mbusproxy/proxy/wire"
)

// failure is a Plan of the proxy's own for a message that is refused. The server is made to fail,
// and its ErrorResponse is replaced by this one; so the order of the replies and the state of the
// transaction are the server's.
type failure struct{ code, message, detail, hint string }

// failingSQL fails when it is analysed. If the transaction has failed before, the server says that instead.
const failingSQL = "select pg_catalog.int4 'refused by mbusproxy'"

func (*failure) SQL() string { return failingSQL }

func (*failure) Size() int { return len(failingSQL) }

// EditReport puts the failure in the place of any ERROR, except the one which says that the
// transaction had failed before. Notices, FATAL and PANIC stay.
func (f *failure) EditReport(r *pgproto3.ErrorResponse, _ int) bool {
	if r.SeverityUnlocalized != "ERROR" || r.Code == CodeFailedTransaction {
		return false
	}
	*r = pgproto3.ErrorResponse{
		Severity: r.Severity, SeverityUnlocalized: r.SeverityUnlocalized,
		Code: f.code, Message: f.message, Detail: f.detail, Hint: f.hint,
	}
	return true
}

func (*failure) HiddenTags() []int                                   { return nil }
func (*failure) Tag() string                                         { return "" }
func (*failure) BindTime() bool                                      { return false }
func (*failure) EndsTransaction() bool                               { return false }
func (*failure) AfterTransaction(statements.Signals)                 {}
func (*failure) Signals(bool, statements.Signals) statements.Signals { return 0 }
func (*failure) Ran(bool)                                            {}

// Prelude is not called.
func (*failure) Prelude(context.Context, statements.Context, wire.Values) statements.Plan { return nil }
