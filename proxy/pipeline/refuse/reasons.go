package refuse

import (
	"fmt"

	"github.com/jackc/pgx/v5/pgproto3"

	"mbusproxy/proxy/statements"
	"mbusproxy/proxy/wire"
)

// SQLSTATEs that are looked for in reports, too.
const (
	CodeFailedTransaction   = "25P02" // in_failed_sql_transaction
	CodeNoStatement         = "26000" // invalid_sql_statement_name
	CodeFeatureNotSupported = "0A000" // among others: cached plan must not change result type
)

const (
	codeQueryCanceled = "57014"
	codeProgramLimit  = "54000"
)

// Canceled is for a message that the client has cancelled.
func Canceled() statements.Plan {
	return &failure{code: codeQueryCanceled, message: "canceling statement due to user request"}
}

// TooManyEffects is for a text with more statements that change names than are read, which are n.
func TooManyEffects(n int) statements.Plan {
	return &failure{
		code:    codeProgramLimit,
		message: fmt.Sprintf("more than %d statements that prepare, deallocate or declare in one text", n),
		detail:  "Among them are names of statements with calls for which mbusproxy runs statements of its own.",
		hint:    "Send them in several messages.",
	}
}

// TooManyStatements is for a Parse beyond the bounds of the statements of a session.
func TooManyStatements(most, bytes int) statements.Plan {
	return &failure{
		code:    codeProgramLimit,
		message: "too many prepared statements with calls for which mbusproxy runs statements of its own",
		detail:  fmt.Sprintf("A session may have %d, with %d bytes of text.", most, bytes),
		hint:    "Close or deallocate those that are not needed any more.",
	}
}

// TooManyPreludes is for a Bind beyond the bound of open portals.
func TooManyPreludes(most int) statements.Plan {
	return &failure{
		code:    codeProgramLimit,
		message: fmt.Sprintf("more than %d open portals of statements with calls for which mbusproxy runs statements of its own", most),
		hint:    "Close portals, or end the transaction.",
	}
}

// NotKnown is for a message that uses a name of which cannot be told what it stands for; what says what has that name.
func NotKnown(what, name string) statements.Plan {
	return &failure{
		code:    codeProgramLimit,
		message: fmt.Sprintf("%s \"%s\" may have been replaced in a text that was too long to be read", what, name),
		detail:  unreadDetail,
		hint:    "Parse the statement again under a name that is free.",
	}
}

// Draining is for a statement that waits while the proxy is being shut down.
func Draining() statements.Plan {
	return &failure{code: "57P01", message: "terminating connection due to administrator command", hint: "mbusproxy is being shut down. Connect again."}
}

// BehindOthers is for a call that would wait in the transaction of statements before it, which only a Sync commits.
func BehindOthers() statements.Plan {
	return &failure{
		code:    CodeFeatureNotSupported,
		message: "a call cannot wait behind other statements that were sent without a Sync",
		hint:    "Send a Sync before it, so that they are committed first, or begin a transaction block before them.",
	}
}

// TooLongToWait is for a statement of so many bytes that would have to be kept while it waits.
func TooLongToWait(size int) statements.Plan {
	return &failure{
		code:    codeProgramLimit,
		message: "a statement whose call waits is too long to be kept meanwhile",
		detail:  fmt.Sprintf("Its text, or its parameters, have %d bytes; %d are the most.", size, wire.MaxNames),
		hint:    "Let the call wait in a short statement of its own.",
	}
}

// Deallocated is for a message that uses a statement of ours that is gone.
func Deallocated() statements.Plan {
	return &failure{
		code:    CodeNoStatement,
		message: "a statement that mbusproxy had prepared in this session has been deallocated by a function",
		hint:    "Repeat the transaction: in this session mbusproxy prepares no more. With --no-prepare it never does.",
	}
}

// Unread makes of a report about a text that was not read one that says so. The code becomes that
// of a limit, for in a shorter text nothing would be missing.
func Unread(r *pgproto3.ErrorResponse) {
	r.Code = codeProgramLimit
	r.Detail = unreadDetail + " This text was not looked at."
	r.Hint = "Send the call in a statement of its own, large values as parameters, or less at a time."
}

var unreadDetail = fmt.Sprintf("mbusproxy looks for calls in texts of at most %d bytes, and in those of more than %d only while it has memory for them.", //nolint:gochecknoglobals // a constant
	wire.MaxText, wire.MaxNames)
