package proxy

import (
	"bytes"
	"context"
	"fmt"
	"regexp"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5/pgproto3"
)

// proceeding is stepping for steps that may end the transaction: a text with /*ends*/ has a plan whose
// step does, one with /*tag TAG*/ a plan with that tag.
type proceeding struct{ stepping }

type proceedingPlan struct {
	*steppingPlan
	tag  string
	ends bool
}

var tagMark = regexp.MustCompile(`/\*tag (.*?)\*/`) //nolint:gochecknoglobals // a constant

func (r *proceeding) Mentions(text []byte) bool {
	return tagMark.Match(text) || r.stepping.Mentions(text)
}

func (r *proceeding) Rewrite(ctx context.Context, sc StatementContext, text string) Plan {
	p := proceedingPlan{steppingPlan: r.stepping.Rewrite(ctx, sc, text).(*steppingPlan), ends: strings.Contains(text, "/*ends*/")}
	if m := tagMark.FindStringSubmatch(text); m != nil && sc.Simple {
		p.tag = m[1]
	}
	return p
}

func (p proceedingPlan) Tag() string           { return p.tag }
func (p proceedingPlan) EndsTransaction() bool { return p.ends }

const (
	commitStep = "do $do$ begin commit; perform set_config('mbus4.n', " + counter + " || 'x', false); commit; end $do$"
	endsMark   = "/*ends*/ /*late " + commitStep + "*/"
	endsText   = endsMark + " select " + counter
	notInBlock = `ErrorResponse ERROR 2D000 "invalid transaction termination [step]"` + "\n"
)

// procedureCases are played as stepCases are.
func procedureCases() map[string][]exchange {
	x := func(want string, m ...pgproto3.FrontendMessage) exchange { return exchange{send: m, want: want} }
	row := func(n int) string { return fmt.Sprintf("DataRow [%q]\n", strings.Repeat("x", n)) }
	const described = "RowDescription coalesce:25\n"
	gone := func(name string) string { return errorLine("34000", fmt.Sprintf("portal %q does not exist", name)) }
	return map[string][]exchange{
		"tag": {
			x("CommandComplete CALL\n"+idle, query("/*tag CALL*/ do $$ begin end $$")),
			x("CommandComplete DO\n"+idle, query("do $$ begin end $$")),
			x(`NoticeResponse NOTICE 00000 "hello [plan]"`+"\nCommandComplete CALL\n"+idle+"CommandComplete DO\n"+idle+"CommandComplete CALL\n"+idle,
				query("/*tag CALL*/ do $$ begin raise notice 'hello'; end $$"), query("do $$ begin end $$"), query("/*tag CALL*/ do $$ begin commit; end $$")),
			x(errorLine("22012", "division by zero [plan]")+idle, query("/*tag CALL*/ do $$ begin perform 1/0; end $$")),
			x("CommandComplete CALL\n"+idle, query("/*tag CALL*/ /*hide 0*/ set mbus4.n = 'q'; do $$ begin end $$")),
			x("EmptyQueryResponse\n"+idle, query("/*tag CALL*/")),
			x(parsed+bound+"CommandComplete DO\n"+idle, parse("", "/*tag CALL*/ do $$ begin end $$"), bind("", ""), execute(""), sync1()),
		},
		"unnamed": {
			x(parsed+bound+ran(1)+idle, parse("", endsText), bind("", ""), execute(""), sync1()),
			x(bound+ran(2)+idle, bind("", ""), execute(""), sync1()),
			x(bound+"RowDescription coalesce:25\n"+ran(3)+idle, bind("", ""), &pgproto3.Describe{ObjectType: 'P'}, execute(""), sync1()),
		},
		"named": {
			x(parsed+"ParameterDescription []\n"+described+idle, parse("s", endsText), &pgproto3.Describe{ObjectType: 'S', Name: "s"}, sync1()),
			x(bound+described+ran(1)+described+"CloseComplete\n"+idle, bind("p", "s"), &pgproto3.Describe{ObjectType: 'P', Name: "p"}, execute("p"),
				&pgproto3.Describe{ObjectType: 'P', Name: "p"}, &pgproto3.Close{ObjectType: 'P', Name: "p"}, sync1()),
			x(bound+ran(2)+"CommandComplete SELECT 0\n"+idle, bind("p", "s"), execute("p"), execute("p"), sync1()),
			x(gone("p")+idle, execute("p"), sync1()),
		},
		"bind alone runs nothing": {
			x(parsed+bound+idle, parse("", endsText), bind("", ""), sync1()),
			x(described+row(0)+"CommandComplete SELECT 1\n"+idle, query("select "+counter)),
		},
		"suspended": {
			x(parsed+bound+row(1)+"PortalSuspended\n"+row(1)+"PortalSuspended\n"+row(1)+"CommandComplete SELECT 1\n"+idle,
				parse("s", endsText+" from generate_series(1, 3)"), bind("p", "s"), &pgproto3.Execute{Portal: "p", MaxRows: 1},
				&pgproto3.Execute{Portal: "p", MaxRows: 1}, execute("p"), sync1()),
		},
		"values come again": {
			x(parsed+bound+`DataRow ["x" "\x00\x01\x00\x02" "null"]`+"\nCommandComplete SELECT 1\n"+idle,
				parse("s", endsText+", $1::int, coalesce($2::text, 'null')"), &pgproto3.Bind{
					DestinationPortal: "p", PreparedStatement: "s",
					ParameterFormatCodes: []int16{1, 0}, Parameters: [][]byte{{0, 1, 0, 2}, nil}, ResultFormatCodes: []int16{0, 1, 0},
				}, execute("p"), sync1()),
			x(bound+"DataRow [\"xx\" \"7\" \""+strings.Repeat("v", 2*maxNames)+"\"]\nCommandComplete SELECT 1\n"+idle,
				&pgproto3.Bind{PreparedStatement: "s", Parameters: [][]byte{[]byte("7"), bytes.Repeat([]byte("v"), 2*maxNames)}}, execute(""), sync1()),
		},
		"pipeline": {
			x(parsed+idle+bound+ran(1)+idle+bound+ran(2)+idle+bound+ran(3)+idle,
				parse("s", endsText), sync1(), bind("", "s"), execute(""), sync1(), bind("p", "s"), execute("p"), sync1(),
				bind("", "s"), execute(""), sync1()),
		},
		"in a transaction": {
			x(begun, query("begin")),
			x(parsed+bound+notInBlock+failed, parse("s", endsText), bind("p", "s"), execute("p"), execute("p"), sync1()),
			x(errorLine("25P02", "current transaction is aborted, commands ignored until end of transaction block [plan]")+failed, execute("p"), sync1()),
			x("CommandComplete ROLLBACK\n"+idle, query("rollback")),
			x(bound+ran(1)+idle, bind("p", "s"), execute("p"), sync1()),
		},
		"savepoint": {
			x(begun+"CommandComplete SAVEPOINT\n"+inTx, query("begin"), query("savepoint a")),
			x(parsed+bound+notInBlock+failed, parse("s", endsText), bind("p", "s"), execute("p"), sync1()),
			x("CommandComplete ROLLBACK\n"+inTx, query("rollback to a")),
			x(bound+notInBlock+failed, bind("p", "s"), execute("p"), sync1()),
			x("CommandComplete ROLLBACK\n"+idle, query("rollback")),
		},
		"other portals end": {
			x(parsed+parsed+bound+bound+ran(1)+errorLine("34000", `portal "q" does not exist [plan]`)+idle,
				parse("s", endsText), parse("t", lateText), bind("q", "t"), bind("p", "s"), execute("p"), execute("q"), sync1()),
			x(bound+ran(2)+idle, bind("q", "t"), execute("q"), sync1()),
		},
		"the other's step does not end it": {
			x(parsed+parsed+bound+bound+ran(1)+ran(1)+idle,
				parse("s", lateText), parse("t", "select "+counter), bind("q", "t"), bind("p", "s"), execute("p"), execute("q"), sync1()),
		},
		"step fails": {
			x(parsed+bound+errorLine("22012", "division by zero [step]")+idle,
				parse("s", "/*ends*/ /*late do $do$ begin commit; perform 1/0; end $do$*/ select 1"), bind("p", "s"), execute("p"), bind("", "s"), sync1()),
			x(bound+errorLine("22012", "division by zero [step]")+idle, bind("p", "s"), execute("p"), sync1()),
		},
		"statement fails": {
			x(parsed+bound+errorLine("22012", "division by zero [plan]")+idle,
				parse("s", endsMark+" select 1 / (length("+counter+") - 1)"), bind("p", "s"), execute("p"), sync1()),
			x(parsed+bound+ran(2)+idle, parse("", endsText), bind("", ""), execute(""), sync1()), // the first was committed
		},
		"statement is gone": {
			x("CommandComplete CREATE TABLE\n"+idle, query("create temp table fleeting ()")),
			x(parsed+bound+`ErrorResponse ERROR 42P01 "relation \"fleeting\" does not exist [step]" at 91`+"\n"+idle,
				parse("s", "/*ends*/ /*late do $do$ begin commit; drop table fleeting; commit; end $do$*/ select from fleeting"),
				bind("p", "s"), execute("p"), sync1()),
			x(parsed+bound+ran(1)+idle, parse("", endsText), bind("", ""), execute(""), sync1()),
		},
	}
}

func TestProcedures(t *testing.T) {
	eachWay(t, func(t *testing.T, way how) {
		p := start(t, way, func(c *Config) { c.Rewriter = new(proceeding) })
		for name, exchanges := range procedureCases() {
			t.Run(name, func(t *testing.T) {
				for _, together := range []bool{false, true} {
					playSteps(t, login(t, p.addr), exchanges, together)
				}
			})
		}
	})
}
