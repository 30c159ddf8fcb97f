package pipeline

import (
	"context"
	"fmt"

	"github.com/jackc/pgx/v5/pgproto3"

	"mbusproxy/proxy/pipeline/names"
	"mbusproxy/proxy/pipeline/requests"
	"mbusproxy/proxy/statements"
	"mbusproxy/proxy/wire"
)

// failure is a Plan of the proxy's own for a message that is refused. The server is made to fail, and its ErrorResponse is
// replaced by this one; so the order of the replies and the state of the transaction are the server's.
type failure struct{ code, message, detail, hint string }

// failingSQL fails when it is analysed. If the transaction has failed before, the server says that instead.
const failingSQL = "select pg_catalog.int4 'refused by mbusproxy'"

func (*failure) SQL() string { return failingSQL }

func (*failure) Size() int { return len(failingSQL) }

// EditReport puts the failure in the place of any ERROR, except the one which says that the transaction had failed before.
// Notices, FATAL and PANIC stay.
func (f *failure) EditReport(r *pgproto3.ErrorResponse) bool {
	if r.SeverityUnlocalized != "ERROR" || r.Code == codeFailedTransaction {
		return false
	}
	*r = pgproto3.ErrorResponse{
		Severity: r.Severity, SeverityUnlocalized: r.SeverityUnlocalized,
		Code: f.code, Message: f.message, Detail: f.detail, Hint: f.hint,
	}
	return true
}

func (*failure) HiddenTags() []int                   { return nil }
func (*failure) Tag() string                         { return "" }
func (*failure) BindTime() bool                      { return false }
func (*failure) EndsTransaction() bool               { return false }
func (*failure) AfterTransaction(statements.Signals) {}
func (*failure) Signals(bool) statements.Signals     { return 0 }
func (*failure) Ran(bool)                            {}

// Prelude is not called.
func (*failure) Prelude(context.Context, statements.Context, wire.Values) statements.Plan { return nil }

// fail notes and returns a message at which the server fails, which takes the place of one of the extended protocol.
func (f *ClientFlow) fail(plan statements.Plan) []byte {
	f.push(requests.Parse, &details{Use: names.Use{Statement: f.ownName()}, plan: plan})
	return wire.AppendFrame(nil, wire.MsgParse, []byte(f.ownName()+"\x00"), []byte(plan.SQL()+"\x00"), []byte{0, 0})
}

func canceled() statements.Plan {
	return &failure{code: codeQueryCanceled, message: "canceling statement due to user request"}
}

const (
	codeQueryCanceled = "57014"
	codeProgramLimit  = "54000"
)

func tooManyEffects(n int) statements.Plan {
	return &failure{
		code:    codeProgramLimit,
		message: fmt.Sprintf("more than %d statements that prepare, deallocate or declare in one text", n),
		detail:  "Among them are names of statements with calls for which mbusproxy runs statements of its own.",
		hint:    "Send them in several messages.",
	}
}

func tooManyStatements() statements.Plan {
	return &failure{
		code:    codeProgramLimit,
		message: "too many prepared statements with calls for which mbusproxy runs statements of its own",
		detail:  fmt.Sprintf("A session may have %d, with %d bytes of text.", names.MaxStatements, names.MaxStatementsSize),
		hint:    "Close or deallocate those that are not needed any more.",
	}
}

func tooManyPreludes() statements.Plan {
	return &failure{
		code:    codeProgramLimit,
		message: fmt.Sprintf("more than %d open portals of statements with calls for which mbusproxy runs statements of its own", names.MaxPreludes),
		hint:    "Close portals, or end the transaction.",
	}
}

func notKnown(what, name string) statements.Plan {
	return &failure{
		code:    codeProgramLimit,
		message: fmt.Sprintf("%s \"%s\" may have been replaced in a text that was too long to be read", what, name),
		detail:  unreadDetail,
		hint:    "Parse the statement again under a name that is free.",
	}
}

var unreadDetail = fmt.Sprintf("mbusproxy looks for calls in texts of at most %d bytes, and in those of more than %d only while it has memory for them.", //nolint:gochecknoglobals // a constant
	wire.MaxText, wire.MaxNames)
