package pipeline

import (
	"context"
	"fmt"

	"github.com/jackc/pgx/v5/pgproto3"

	"mbusproxy/proxy/wire"
)

// failure is a Plan of the proxy's own for a message that is refused: the server is made to fail, and what it
// says becomes this. So the order of the replies and the state of the transaction are always the server's.
type failure struct{ code, message, detail, hint string }

// failingSQL fails when it is analysed. Where the transaction has failed before the server says so instead.
const failingSQL = "select pg_catalog.int4 'refused by mbusproxy'"

func (f *failure) SQL() string { return failingSQL }

// EditReport leaves what the server says for a reason of its own.
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

func (*failure) Hidden() []int         { return nil }
func (*failure) Tag() string           { return "" }
func (*failure) Late() bool            { return false }
func (*failure) EndsTransaction() bool { return false }
func (*failure) AfterTransaction()     {}
func (*failure) Signals() bool         { return false }

// Bound is not called.
func (*failure) Bound(context.Context, StatementContext, wire.Values) Plan { return nil }

// fail notes and returns a message at which the server fails, in place of one of the extended protocol.
func (f *ClientFlow) fail(plan Plan) []byte {
	f.push(owedParse, &about{plan: plan, statement: f.ownName()})
	return wire.AppendFrame(nil, wire.MsgParse, []byte(f.ownName()+"\x00"), []byte(plan.SQL()+"\x00"), []byte{0, 0})
}

func canceled() Plan {
	return &failure{code: codeQueryCanceled, message: "canceling statement due to user request"}
}

const (
	codeQueryCanceled = "57014"
	codeProgramLimit  = "54000"
)

func tooManyActs() Plan {
	return &failure{
		code:    codeProgramLimit,
		message: fmt.Sprintf("more than %d statements that prepare, deallocate or declare in one text", maxActs),
		detail:  "Among them are names of statements with calls for which mbusproxy runs statements of its own.",
		hint:    "Send them in several messages.",
	}
}

func tooManyStatements() Plan {
	return &failure{
		code:    codeProgramLimit,
		message: "too many prepared statements with calls for which mbusproxy runs statements of its own",
		detail:  fmt.Sprintf("A session may have %d, with %d bytes of text.", maxLate, maxLateSize),
		hint:    "Close or deallocate those that are not needed any more.",
	}
}

func tooManySteps() Plan {
	return &failure{
		code:    codeProgramLimit,
		message: fmt.Sprintf("more than %d open portals of statements with calls for which mbusproxy runs statements of its own", MaxSteps),
		hint:    "Close portals, or end the transaction.",
	}
}

func notKnown(what, name string) Plan {
	return &failure{
		code:    codeProgramLimit,
		message: fmt.Sprintf("%s \"%s\" may have been replaced in a text that was too long to be read", what, name),
		detail:  unreadDetail,
		hint:    "Parse the statement again under a name that is free.",
	}
}

var unreadDetail = fmt.Sprintf("mbusproxy looks for calls in texts of at most %d bytes, and in those of more than %d only while it has memory for them.", //nolint:gochecknoglobals // a constant
	wire.MaxText, wire.MaxNames)
