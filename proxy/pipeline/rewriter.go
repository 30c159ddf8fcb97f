package pipeline

import (
	"context"

	"github.com/jackc/pgx/v5/pgproto3"

	"mbusproxy/proxy/wire"
)

// StatementContext is what the session knows that matters for reading a text.
type StatementContext struct {
	User     string // the role that the session logged in as
	Database string // the database the client named at startup, or its user name when it named none
	// Encoding is client_encoding as last reported by the server, e.g. "UTF8"; where one of both sides has
	// SQL_ASCII it is server_encoding.
	Encoding string
	// EscapeStrings is set while standard_conforming_strings is off.
	EscapeStrings bool
	// Secret is known to nobody but the session: what a plan has the server say of its statements can prove
	// with it that it is the plan's.
	Secret string
	// Simple is set for the text of a Query and not for that of a Parse.
	Simple bool
	// Named is set for the text of a Parse that has a name.
	Named bool
	// VoidParams are the numbers of the parameters that a Parse declares as void.
	VoidParams []int
	// Answer is what the probe query of a Prober has returned; "" where there was none, or where it failed.
	Answer string
}

// Rewriter decides what becomes of a statement's text. It is safe for concurrent use. A panic in
// one of its methods ends the session it was called for.
type Rewriter interface {
	// Mentions is the cheap test on raw message bytes; false means: forward, never parse.
	// It must not keep text, which lies in a buffer that is used again.
	Mentions(text []byte) bool
	// Rewrite returns nil when text is to be forwarded byte for byte. It never fails: a text that
	// is refused becomes a Plan whose SQL makes the server raise an error, which Plan.EditReport
	// turns into the real one. ctx ends with the session.
	Rewrite(ctx context.Context, sc StatementContext, text string) Plan
	// MayHaveEffects is the cheap test for texts in which Effects may find something. It must not keep text. It looks for
	// words of at most EffectWordSize bytes, so it may be shown parts of a text that overlap by one byte less.
	MayHaveEffects(text []byte) bool
	// Effects returns what the statements of a text do to the names of prepared statements and portals once they are
	// executed, in their order; more says that there are others behind them. It is only called for texts for which
	// MayHaveEffects is true.
	Effects(sc StatementContext, text string) (effects []Effect, more bool)
	// MayDeallocate is the cheap test for texts that may take prepared statements away where no command tag says so, as DO blocks
	// may. It must not keep text.
	MayDeallocate(text []byte) bool
	// MaySetTimeouts is the cheap test for texts that may change the timeouts of the session. It must not keep text.
	MaySetTimeouts(text []byte) bool
	// EditReport gets an ErrorResponse or NoticeResponse that belongs to no plan (for example of
	// EXECUTE of an SQL-level prepared statement) in the session with that secret, and reports whether it
	// changed it.
	EditReport(secret string, r *pgproto3.ErrorResponse) bool
}

// Recaller is a Rewriter that knows some plans without waiting for anything.
type Recaller interface {
	Rewriter
	// Recall returns what Rewrite would, which is a Plan, where it can do so at once; else false. It must not keep text.
	Recall(sc StatementContext, text []byte) (Plan, bool)
}

// PreparedTransactions is a Rewriter that wants to know when a transaction that PREPARE TRANSACTION has set aside has ended, which may be in
// another session than it was begun in.
type PreparedTransactions interface {
	Rewriter
	// AfterPrepared is called with the name of the database. It returns at once.
	AfterPrepared(database string)
}

// EffectWordSize is the length of the longest word that Rewriter.MayHaveEffects may look for, in bytes.
const EffectWordSize = 16

// Effect is what a statement does to a name: it binds the name, or takes it away. A statement that takes all names away has none,
// for its command tag says what it does.
type Effect struct {
	// Tag is the command tag by which the server says that it is done.
	Tag string
	// Portal says that the name is that of a portal, and not of a prepared statement.
	Portal bool
	// Name is the name as the server knows it, in the client's encoding; "" where it may be any but the unnamed one.
	Name string
}

// Plan is a rewritten text. It is immutable and may be shared between sessions.
type Plan interface {
	// SQL is what the server gets instead of the client's text.
	SQL() string
	// Size is about how many bytes the plan takes. Unlike SQL it makes no text.
	Size() int
	// EditReport maps the position back to the client's text and turns the engine's markers into
	// the proper SQLSTATE, message and hint; it reports whether it changed anything. It is called
	// for NoticeResponse too, which has the same fields.
	EditReport(r *pgproto3.ErrorResponse) bool
	// HiddenTags are the ordinals, ascending from 0, of the statements in the reply to a Query whose
	// CommandComplete the client must not see, because they are ours. They return no rows. Only
	// for plans of Query texts; nil nearly always.
	HiddenTags() []int
	// Tag is the command tag that the client gets for the one statement of a Query, where the
	// server would give that of another; "" nearly always.
	Tag() string
	// BindTime reports whether the plan is a bind-time plan: Prelude is to be called for each Bind of a statement made from it.
	BindTime() bool
	// Prelude gets the values of a Bind and returns the prelude statement, which must run in the session before
	// the portal is executed for the first time; nil for none. Of its Plan only SQL and EditReport
	// are used. It is one statement without parameters that does not copy, and ends
	// the transaction only where EndsTransaction says so; its rows are thrown away. One that is refused is a Plan whose SQL the
	// server fails to parse, as with Rewrite. Prelude may take its time, like Rewrite; ctx ends
	// with the session. It may be called for a Bind that the server then refuses or skips.
	Prelude(ctx context.Context, sc StatementContext, values wire.Values) Plan
	// EndsTransaction reports whether the prelude statement may end the transaction, and with it the portal it
	// belongs to, whose Bind is then sent again after it. It is only asked of bind-time plans.
	EndsTransaction() bool
	// AfterTransaction is called when a transaction ends, committed or not, or with its session, on the last plan that was executed in it and for
	// which Signals is not 0, with what all those say together. It returns at once.
	AfterTransaction(Signals)
	// Ran is called when the server has replied to the message that ran the plan, or for which it failed: once for each. It returns at once.
	Ran(ok bool)
	// Signals says for whom AfterTransaction is to be called when the plan has been executed or, where ok is false, has failed; 0: for nobody.
	Signals(ok bool) Signals
}

// Signals says what a transaction may have changed, in bits. What they mean is the Rewriter's.
type Signals uint8
