package selector

import (
	"cmp"
	"context"
	"strings"

	pg_query "github.com/pganalyze/pg_query_go/v6"

	"mbusproxy/rewrite/parse"
)

// Version changes whenever Compile may give another Condition for the same text.
const Version = 2

const maxCondition = 64 << 10 // bytes of the SQL that is made

// Env is what a compiled selector depends on besides its text.
type Env struct {
	HstoreSchema string // the schema of the extension hstore, quoted where it must be: selectors may name it
	// Bound is the schema whose functions, operators and type the condition names in place of the extension's; "": it names those.
	Bound string
	Major int // of the server, e.g. 15; so far Condition is the same for all
}

// written is the schema that the condition names for what is hstore's.
func (e Env) written() string { return cmp.Or(e.Bound, e.HstoreSchema) }

// Selector is a text that was checked. It is immutable.
type Selector struct {
	Text string // as given

	// Condition is SQL: an expression over the columns of a row t of type mbus4.qt_model that yields int4: 1
	// where the message matches, 0 where it does not, and -1 where evaluating the text would have raised an
	// error. It never raises one, names everything in full, reads the same under every setting of a session, holds no
	// subquery and calls immutable functions only.
	Condition string

	CanFail bool // Condition may yield -1

	// Simple describes the common form, a conjunction of  <hstore column> -> 'key' = 'constant'. It is nil
	// for any other form.
	Simple []Term
}

// Term is one comparison of a Simple selector.
type Term struct {
	Column     string // headers, properties or data
	Key, Value string
}

// Compile checks a text, which must not be blank. A refusal is an *Error; any other error is that of a context which
// ended before the parser had time.
func Compile(ctx context.Context, parser *parse.Parser, text string, env Env) (*Selector, error) {
	n, err := parseExpression(ctx, parser, text)
	if err != nil {
		return nil, err
	}
	s, refusal := compileExpression(n, text, env)
	if refusal != nil {
		return nil, refusal
	}
	return s, nil
}

func compileExpression(n *pg_query.Node, text string, env Env) (*Selector, *Error) {
	c := &compiler{env: env, hstoreSchema: unquoted(env.HstoreSchema), dear: map[string]cost{}, regexps: map[string]cost{}}
	e, err := c.check(n)
	if err == nil {
		e, err = c.condition(e)
	}
	if err != nil {
		return nil, err
	}
	s := &Selector{Text: text, CanFail: e.err != ""}
	s.Condition = decide(e)
	if len(s.Condition) > maxCondition {
		return nil, tooComplex(0)
	}
	if err := c.affordable(s.Condition); err != nil {
		return nil, err
	}
	if terms, ok := simpleTerms(n, nil); ok && e.err == "" {
		s.Simple = terms
	}
	return s, nil
}

// condition takes an expression as the selector itself, which is boolean.
func (c *compiler) condition(e *expr) (*expr, *Error) {
	at := e.at
	e, err := c.known(e, boolean)
	if err == nil && e.typ != boolean {
		err = refuse(at, codeMismatch, hintLanguage, "a selector must be boolean, not %s", e.typ)
	}
	return e, err
}

// unquoted is an identifier without the quotes it may have.
func unquoted(ident string) string {
	if len(ident) < 2 || ident[0] != '"' {
		return ident
	}
	return strings.ReplaceAll(ident[1:len(ident)-1], `""`, `"`)
}
