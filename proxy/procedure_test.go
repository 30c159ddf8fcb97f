package proxy

import (
	"bytes"
	"context"
	"fmt"
	"regexp"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5/pgproto3"

	"mbusproxy/proxy/internal/proxytest"
	"mbusproxy/proxy/statements"
	"mbusproxy/proxy/wire"
)

// proceeding is stepping for steps that may end the transaction: a text with /*ends*/ has a plan whose
// step does, one with /*tag TAG*/ a plan with that tag.
type proceeding struct{ proxytest.Stepping }

type proceedingPlan struct {
	*proxytest.SteppingPlan
	tag  string
	ends bool
}

var tagMark = regexp.MustCompile(`/\*tag (.*?)\*/`) //nolint:gochecknoglobals // a constant

func (r *proceeding) Mentions(text []byte) bool {
	return tagMark.Match(text) || r.Stepping.Mentions(text)
}

func (r *proceeding) Rewrite(ctx context.Context, sc statements.Context, text string) statements.Plan {
	p := proceedingPlan{SteppingPlan: r.Stepping.Rewrite(ctx, sc, text).(*proxytest.SteppingPlan), ends: strings.Contains(text, "/*ends*/")}
	if m := tagMark.FindStringSubmatch(text); m != nil && sc.Simple {
		p.tag = m[1]
	}
	return p
}

func (p proceedingPlan) Tag() string           { return p.tag }
func (p proceedingPlan) EndsTransaction() bool { return p.ends }

const (
	commitStep = "do $do$ begin commit; perform set_config('mbus4.n', " + proxytest.Counter + " || 'x', false); commit; end $do$"
	endsMark   = "/*ends*/ /*late " + commitStep + "*/"
	endsText   = endsMark + " select " + proxytest.Counter
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
			x("CommandComplete CALL\n"+idle, proxytest.Query("/*tag CALL*/ do $$ begin end $$")),
			x("CommandComplete DO\n"+idle, proxytest.Query("do $$ begin end $$")),
			x(`NoticeResponse NOTICE 00000 "hello [plan]"`+"\nCommandComplete CALL\n"+idle+"CommandComplete DO\n"+idle+"CommandComplete CALL\n"+idle,
				proxytest.Query("/*tag CALL*/ do $$ begin raise notice 'hello'; end $$"), proxytest.Query("do $$ begin end $$"), proxytest.Query("/*tag CALL*/ do $$ begin commit; end $$")),
			x(errorLine("22012", "division by zero [plan]")+idle, proxytest.Query("/*tag CALL*/ do $$ begin perform 1/0; end $$")),
			x("CommandComplete CALL\n"+idle, proxytest.Query("/*tag CALL*/ /*hide 0*/ set mbus4.n = 'q'; do $$ begin end $$")),
			x("EmptyQueryResponse\n"+idle, proxytest.Query("/*tag CALL*/")),
			x(parsed+bound+"CommandComplete DO\n"+idle, proxytest.Parse("", "/*tag CALL*/ do $$ begin end $$"), proxytest.Bind("", ""), proxytest.Execute(""), proxytest.Sync()),
		},
		"unnamed": {
			x(parsed+bound+ran(1)+idle, proxytest.Parse("", endsText), proxytest.Bind("", ""), proxytest.Execute(""), proxytest.Sync()),
			x(bound+ran(2)+idle, proxytest.Bind("", ""), proxytest.Execute(""), proxytest.Sync()),
			x(bound+"RowDescription coalesce:25\n"+ran(3)+idle, proxytest.Bind("", ""), &pgproto3.Describe{ObjectType: 'P'}, proxytest.Execute(""), proxytest.Sync()),
		},
		"named": {
			x(parsed+"ParameterDescription []\n"+described+idle, proxytest.Parse("s", endsText), &pgproto3.Describe{ObjectType: 'S', Name: "s"}, proxytest.Sync()),
			x(bound+described+ran(1)+described+"CloseComplete\n"+idle, proxytest.Bind("p", "s"), &pgproto3.Describe{ObjectType: 'P', Name: "p"}, proxytest.Execute("p"),
				&pgproto3.Describe{ObjectType: 'P', Name: "p"}, &pgproto3.Close{ObjectType: 'P', Name: "p"}, proxytest.Sync()),
			x(bound+ran(2)+"CommandComplete SELECT 0\n"+idle, proxytest.Bind("p", "s"), proxytest.Execute("p"), proxytest.Execute("p"), proxytest.Sync()),
			x(gone("p")+idle, proxytest.Execute("p"), proxytest.Sync()),
		},
		"bind alone runs nothing": {
			x(parsed+bound+idle, proxytest.Parse("", endsText), proxytest.Bind("", ""), proxytest.Sync()),
			x(described+row(0)+"CommandComplete SELECT 1\n"+idle, proxytest.Query("select "+proxytest.Counter)),
		},
		"suspended": {
			x(parsed+bound+row(1)+"PortalSuspended\n"+row(1)+"PortalSuspended\n"+row(1)+"CommandComplete SELECT 1\n"+idle,
				proxytest.Parse("s", endsText+" from generate_series(1, 3)"), proxytest.Bind("p", "s"), &pgproto3.Execute{Portal: "p", MaxRows: 1},
				&pgproto3.Execute{Portal: "p", MaxRows: 1}, proxytest.Execute("p"), proxytest.Sync()),
		},
		"values come again": {
			x(parsed+bound+`DataRow ["x" "\x00\x01\x00\x02" "null"]`+"\nCommandComplete SELECT 1\n"+idle,
				proxytest.Parse("s", endsText+", $1::int, coalesce($2::text, 'null')"), &pgproto3.Bind{
					DestinationPortal: "p", PreparedStatement: "s",
					ParameterFormatCodes: []int16{1, 0}, Parameters: [][]byte{{0, 1, 0, 2}, nil}, ResultFormatCodes: []int16{0, 1, 0},
				}, proxytest.Execute("p"), proxytest.Sync()),
			x(bound+"DataRow [\"xx\" \"7\" \""+strings.Repeat("v", 2*wire.MaxNames)+"\"]\nCommandComplete SELECT 1\n"+idle,
				&pgproto3.Bind{PreparedStatement: "s", Parameters: [][]byte{[]byte("7"), bytes.Repeat([]byte("v"), 2*wire.MaxNames)}}, proxytest.Execute(""), proxytest.Sync()),
		},
		"pipeline": {
			x(parsed+idle+bound+ran(1)+idle+bound+ran(2)+idle+bound+ran(3)+idle,
				proxytest.Parse("s", endsText), proxytest.Sync(), proxytest.Bind("", "s"), proxytest.Execute(""), proxytest.Sync(), proxytest.Bind("p", "s"), proxytest.Execute("p"), proxytest.Sync(),
				proxytest.Bind("", "s"), proxytest.Execute(""), proxytest.Sync()),
		},
		"in a transaction": {
			x(begun, proxytest.Query("begin")),
			x(parsed+bound+notInBlock+failed, proxytest.Parse("s", endsText), proxytest.Bind("p", "s"), proxytest.Execute("p"), proxytest.Execute("p"), proxytest.Sync()),
			x(errorLine("25P02", "current transaction is aborted, commands ignored until end of transaction block [plan]")+failed, proxytest.Execute("p"), proxytest.Sync()),
			x("CommandComplete ROLLBACK\n"+idle, proxytest.Query("rollback")),
			x(bound+ran(1)+idle, proxytest.Bind("p", "s"), proxytest.Execute("p"), proxytest.Sync()),
		},
		"savepoint": {
			x(begun+"CommandComplete SAVEPOINT\n"+inTx, proxytest.Query("begin"), proxytest.Query("savepoint a")),
			x(parsed+bound+notInBlock+failed, proxytest.Parse("s", endsText), proxytest.Bind("p", "s"), proxytest.Execute("p"), proxytest.Sync()),
			x("CommandComplete ROLLBACK\n"+inTx, proxytest.Query("rollback to a")),
			x(bound+notInBlock+failed, proxytest.Bind("p", "s"), proxytest.Execute("p"), proxytest.Sync()),
			x("CommandComplete ROLLBACK\n"+idle, proxytest.Query("rollback")),
		},
		"other portals end": {
			x(parsed+parsed+bound+bound+ran(1)+errorLine("34000", `portal "q" does not exist [plan]`)+idle,
				proxytest.Parse("s", endsText), proxytest.Parse("t", proxytest.LateText), proxytest.Bind("q", "t"), proxytest.Bind("p", "s"), proxytest.Execute("p"), proxytest.Execute("q"), proxytest.Sync()),
			x(bound+ran(2)+idle, proxytest.Bind("q", "t"), proxytest.Execute("q"), proxytest.Sync()),
		},
		"the other's step does not end it": {
			x(parsed+parsed+bound+bound+ran(1)+ran(1)+idle,
				proxytest.Parse("s", proxytest.LateText), proxytest.Parse("t", "select "+proxytest.Counter), proxytest.Bind("q", "t"), proxytest.Bind("p", "s"), proxytest.Execute("p"), proxytest.Execute("q"), proxytest.Sync()),
		},
		"step fails": {
			x(parsed+bound+errorLine("22012", "division by zero [step]")+idle,
				proxytest.Parse("s", "/*ends*/ /*late do $do$ begin commit; perform 1/0; end $do$*/ select 1"), proxytest.Bind("p", "s"), proxytest.Execute("p"), proxytest.Bind("", "s"), proxytest.Sync()),
			x(bound+errorLine("22012", "division by zero [step]")+idle, proxytest.Bind("p", "s"), proxytest.Execute("p"), proxytest.Sync()),
		},
		"statement fails": {
			x(parsed+bound+errorLine("22012", "division by zero [plan]")+idle,
				proxytest.Parse("s", endsMark+" select 1 / (length("+proxytest.Counter+") - 1)"), proxytest.Bind("p", "s"), proxytest.Execute("p"), proxytest.Sync()),
			x(parsed+bound+ran(2)+idle, proxytest.Parse("", endsText), proxytest.Bind("", ""), proxytest.Execute(""), proxytest.Sync()), // the first was committed
		},
		"statement is gone": {
			x("CommandComplete CREATE TABLE\n"+idle, proxytest.Query("create temp table fleeting ()")),
			x(parsed+bound+`ErrorResponse ERROR 42P01 "relation \"fleeting\" does not exist [step]" at 91`+"\n"+idle,
				proxytest.Parse("s", "/*ends*/ /*late do $do$ begin commit; drop table fleeting; commit; end $do$*/ select from fleeting"),
				proxytest.Bind("p", "s"), proxytest.Execute("p"), proxytest.Sync()),
			x(parsed+bound+ran(1)+idle, proxytest.Parse("", endsText), proxytest.Bind("", ""), proxytest.Execute(""), proxytest.Sync()),
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
