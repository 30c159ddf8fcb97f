package plan

// Env is what a rewritten text depends on besides the client's text.
type Env struct {
	HstoreSchema string // schema that holds the extension hstore, quoted where it must be
	// Ordered says that messages wait for others in the database, or may. A plan made without it
	// is right all the same; it leaves waking them to the engine.
	Ordered bool
	// Selective says that consumers or triggers of the database have selectors. A plan made without
	// it is right all the same.
	Selective bool
}

// Session is what a text's meaning depends on in the session that sends it.
type Session struct {
	Encoding string // client_encoding
	// EscapeStrings is set while standard_conforming_strings is off: a backslash escapes in plain
	// literals, too.
	EscapeStrings bool
	// Void lists the parameters ($n) that Parse declares as void. Postgres drops them from the
	// arguments of a call; JDBC sends one for the result in {? = call f(?)}.
	Void []int
	// Prepared says that the text may run more than once, and later than now.
	Prepared bool
	// Answer says which of the text's Candidates are ours: a 1 for each that is.
	Answer string
}
