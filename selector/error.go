package selector

import (
	"fmt"

	pg_query "github.com/pganalyze/pg_query_go/v6"
)

// Error is the refusal of a text.
type Error struct {
	Code    string // SQLSTATE
	Message string // names the first thing that is not allowed
	Hint    string
	Offset  int // of that thing in the text, in bytes
}

func (e *Error) Error() string { return e.Message }

// SQLSTATEs of refusals; where Postgres would refuse the text as well they are its own.
const (
	codeNotSupported      = "0A000"
	codeUntranslated      = "22021" // character_not_in_repertoire
	codeInvalidText       = "22P02"
	codeInvalidDate       = "22007"
	codeOutOfRange        = "22003"
	codeArraySubscript    = "2202E"
	codeSyntax            = "42601"
	codeUndefinedColumn   = "42703"
	codeUndefinedTable    = "42P01"
	codeUndefinedType     = "42704"
	codeUndefinedFunction = "42883"
	codeCannotCoerce      = "42846"
	codeMismatch          = "42804"
	codeNotImmutable      = "42P17"
	codeGrouping          = "42803"
	codeWindowing         = "42P20"
	codeCollation         = "42P21"
	codeProgramLimit      = "54000"
	codeTooComplex        = "54001"
)

// Hints. hintLanguage is for whatever is no part of the language and has no substitute.
const (
	hintLanguage  = "A selector is one boolean expression over the message t, for example (t.properties->'STATE')='DONE'. docs/selectors.md lists what it may hold."
	hintColumns   = "A message has the columns id, added, iid, delayed_until, expires, received, headers, properties, data and payload, written bare or with t."
	hintColumn    = hintColumns + " A value is read with ->, for example t.properties->'STATE'; texts stand in single quotes."
	hintKey       = "The operator for a key is ->, which gives a text: t.data->'n'."
	hintImmutable = "A selector depends on the message alone. Let the poster put what it depends on into the message's headers or properties."
	hintTypes     = "The types are boolean, smallint, integer, bigint, numeric, double precision, text, varchar, date, timestamp, hstore and jsonb, and arrays of these but the last two."
	hintConstant  = "Write it as a constant."
	hintOperators = "docs/selectors.md lists the operators that a selector may use."
	hintElapsed   = "Compare what extract(epoch from …) gives for each, in seconds."
	hintCast      = "Cast one side, for example (t.data->'n')::int."
	hintCheaper   = "Compare shorter texts, with simpler patterns, or let the poster put what is computed into the message's properties."
	hintShorter   = "Write a shorter selector, or let the poster put what it computes into the message's properties."
)

// refuse makes a refusal. Without a hint of its own it has the general one.
func refuse(at int, code, hint, format string, args ...any) *Error {
	if hint == "" {
		hint = hintLanguage
	}
	return &Error{Code: code, Message: fmt.Sprintf(format, args...), Hint: hint, Offset: at}
}

// offset turns the place of a node into one in the selector.
func offset(location int32) int {
	if location < int32(len(prefix)) {
		return 0
	}
	return int(location) - len(prefix)
}

// place finds where a node begins as well as its kind tells it.
func place(n *pg_query.Node) int {
	switch x := n.GetNode().(type) {
	case *pg_query.Node_AConst:
		return offset(x.AConst.Location)
	case *pg_query.Node_ColumnRef:
		return offset(x.ColumnRef.Location)
	case *pg_query.Node_FuncCall:
		return offset(x.FuncCall.Location)
	case *pg_query.Node_AExpr:
		if x.AExpr.Lexpr != nil {
			return place(x.AExpr.Lexpr)
		}
		return offset(x.AExpr.Location)
	case *pg_query.Node_BoolExpr:
		if x.BoolExpr.Boolop != pg_query.BoolExprType_NOT_EXPR && len(x.BoolExpr.Args) > 0 {
			return place(x.BoolExpr.Args[0])
		}
		return offset(x.BoolExpr.Location)
	case *pg_query.Node_TypeCast:
		if x.TypeCast.Location > 0 && x.TypeCast.Arg != nil {
			return min(offset(x.TypeCast.Location), place(x.TypeCast.Arg))
		}
		return place(x.TypeCast.Arg)
	case *pg_query.Node_SubLink:
		return offset(x.SubLink.Location)
	case *pg_query.Node_ParamRef:
		return offset(x.ParamRef.Location)
	case *pg_query.Node_SqlvalueFunction:
		return offset(x.SqlvalueFunction.Location)
	case *pg_query.Node_CaseExpr:
		return offset(x.CaseExpr.Location)
	case *pg_query.Node_CoalesceExpr:
		return offset(x.CoalesceExpr.Location)
	case *pg_query.Node_MinMaxExpr:
		return offset(x.MinMaxExpr.Location)
	case *pg_query.Node_NullTest:
		return place(x.NullTest.Arg)
	case *pg_query.Node_BooleanTest:
		return place(x.BooleanTest.Arg)
	case *pg_query.Node_AArrayExpr:
		return offset(x.AArrayExpr.Location)
	case *pg_query.Node_RowExpr:
		return offset(x.RowExpr.Location)
	case *pg_query.Node_AIndirection:
		return place(x.AIndirection.Arg)
	case *pg_query.Node_CollateClause:
		return place(x.CollateClause.Arg)
	}
	return 0
}
