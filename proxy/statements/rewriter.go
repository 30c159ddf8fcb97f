package statements

import (
	"context"
	"time"

	"github.com/jackc/pgx/v5/pgproto3"
)

// Context is what the session knows that matters for reading a text.
type Context struct {
	User     string // the role that the session logged in as
	Database string // the database the client named at startup, or its user name when it named none
	// Began is when the session had been logged in.
	Began time.Time
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
	Rewrite(ctx context.Context, sc Context, text string) Plan
	// MayHaveEffects is the cheap test for texts in which Effects may find something. It must not
	// keep text. It looks for words of at most EffectWordSize bytes, so it may be shown parts of a
	// text that overlap by one byte less.
	MayHaveEffects(text []byte) bool
	// Effects returns what the statements of a text do to the names of prepared statements and portals once they are
	// executed, in their order; more says that there are others behind them. It is only called for texts for which
	// MayHaveEffects is true.
	Effects(sc Context, text string) (effects []Effect, more bool)
	// MayDeallocate is the cheap test for texts that may take prepared statements away where no
	// command tag says so, as DO blocks may. It must not keep text.
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
	// Recall returns what Rewrite would, which is a Plan, where it can do so at once; else false.
	// It must not keep text.
	Recall(sc Context, text []byte) (Plan, bool)
}

// PreparedTransactions is a Rewriter that wants to know when a transaction that PREPARE TRANSACTION
// has set aside has ended, which may be in another session than it was begun in.
type PreparedTransactions interface {
	Rewriter
	// AfterPrepared is called with the name of the database. It returns at once.
	AfterPrepared(database string)
}

// EffectWordSize is the length of the longest word that Rewriter.MayHaveEffects may look for, in bytes.
const EffectWordSize = 16

// Effect is what a statement does to a name: it binds the name, or takes it away. A statement that
// takes all names away has none, for its command tag says what it does.
type Effect struct {
	// Tag is the command tag by which the server says that it is done.
	Tag string
	// Portal says that the name is that of a portal, and not of a prepared statement.
	Portal bool
	// Name is the name as the server knows it, in the client's encoding; "" where it may be any but the unnamed one.
	Name string
}
