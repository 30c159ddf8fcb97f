package statements

import (
	"context"

	"github.com/jackc/pgx/v5/pgproto3"

	"mbusproxy/proxy/wire"
)

// Plan is a rewritten text. It is immutable and may be shared between sessions.
type Plan interface {
	// SQL is what the server gets instead of the client's text.
	SQL() string
	// Size is about how many bytes the plan takes. Unlike SQL it makes no text.
	Size() int
	// EditReport maps the position back to the client's text and turns the engine's markers into
	// the proper SQLSTATE, message and hint; it reports whether it changed anything. It is called
	// for NoticeResponse too, which has the same fields. done is how many statements of a Query have completed before.
	EditReport(r *pgproto3.ErrorResponse, done int) bool
	// HiddenTags are the ordinals, ascending from 0, of the statements in the reply to a Query whose
	// CommandComplete the client must not see, because they are ours. They return no rows. Only
	// for plans of Query texts; nil nearly always.
	HiddenTags() []int
	// Tag is the command tag that the client gets for the one statement of a Query, where the
	// server would give that of another; "" nearly always.
	Tag() string
	// BindTime reports whether the plan is a bind-time plan: Prelude is to be called for each Bind
	// of a statement made from it.
	BindTime() bool
	// Prelude gets the values of a Bind and returns the prelude statement, which must run in the
	// session before the portal is executed for the first time; nil for none. Of its Plan only SQL
	// and EditReport are used, and Next where it is one of Several. It is one statement without parameters that does not
	// copy, and ends the transaction only where EndsTransaction says so; its rows are thrown away. One that is
	// refused is a Plan whose SQL the server fails to parse, as with Rewrite. Prelude may take its
	// time, like Rewrite; ctx ends with the session. It may be called for a Bind that the server
	// then refuses or skips.
	Prelude(ctx context.Context, sc Context, values wire.Values) Plan
	// EndsTransaction reports whether the prelude statement may end the transaction, and with it the portal it
	// belongs to, whose Bind is then sent again after it. It is only asked of bind-time plans.
	EndsTransaction() bool
	// AfterTransaction is called when a transaction ends, committed or not, or with its session, on
	// the last plan that was executed in it and for which Signals is not 0, with what all those say
	// together. It returns at once.
	AfterTransaction(Signals)
	// Ran is called when the server has replied to the message that ran the plan, or for which it
	// failed: once for each. It returns at once.
	Ran(ok bool)
	// Signals says for whom AfterTransaction is to be called when the plan has been executed or, if
	// ok is false, has failed; 0: for nobody. bound is what the values mean that the transaction has
	// bound to parameters of ValueSignals, together; 0: nothing is known of them.
	Signals(ok bool, bound Signals) Signals
}

// Several is the Plan of a prelude statement behind which others may have to run.
type Several interface {
	Plan
	// Next returns the Plan of the one that runs next; nil where this is the last. Size is of this and of all that follow.
	Next() Plan
}

// Next returns the prelude statement that runs behind p; nil where p is the last.
func Next(p Plan) Plan {
	if several, ok := p.(Several); ok {
		return several.Next()
	}
	return nil
}

// LongPlan is a Plan whose text may be long.
type LongPlan interface {
	Plan
	// AppendSQL appends what SQL returns, without a copy of the whole text before.
	AppendSQL(b []byte) []byte
	// Sent returns the Plan that is kept until the server has replied: of it SQL, Prelude and Tag are not called.
	Sent() Plan
}

// Signals says what a transaction may have changed, in bits. What they mean is the Rewriter's.
type Signals uint64

// AllSignals are said of values that cannot be read.
const AllSignals = ^Signals(0)
