package statements

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgproto3"

	"mbusproxy/integration/internal/frontend"
	"mbusproxy/integration/internal/harness"
)

// ofOurs says whether the proxy has prepared statements in a session, few enough.
const ofOurs = "select count(*) between 1 and 16 from pg_prepared_statements where name like '\\_mbus4\\_%'"

// prepareOnce sends a text so often that it is run by a prepared statement from then on: it is
// seen, the server is asked for its process, and once that is known the statement is prepared.
func prepareOnce(t *testing.T, conn *pgconn.PgConn, text string) {
	t.Helper()
	for range 4 {
		harness.Ask(t, conn, text)
	}
	harness.Want(t, conn, "t", ofOurs)
}

const preparedPost = "select mbus4.post('q', 'a=>1', iid => 'm')"

// varying is what differs from one run to the next: numbers of messages, and times.
var varying = regexp.MustCompile(`"[0-9]+"|[0-9]{8,}|20[0-9]{2}-[0-9]{2}-[0-9]{2}[ T][0-9:.]+`)

// errorAlone is an error with the description of rows that do not come. A statement that changes
// rows itself is run before its rows are described, and others after that: so it is with the
// functions that a call stands for.
var errorAlone = regexp.MustCompile(`RowDescription .*\nErrorResponse`)

// A client that sends a text again and again gets the replies that it gets through a proxy which
// prepares nothing: in a block, outside, and in a failed transaction; where the text succeeds, and
// where it fails.
func TestPreparedReplies(t *testing.T) {
	t.Parallel()
	database := harness.NewQueueDatabase(t, "q", "w")
	server := harness.Connect(t, harness.Direct(), database)
	never := harness.NewProxy(t, "--no-prepare").Endpoint
	for _, text := range []string{
		preparedPost,
		"select mbus4.post('q', 'a=>\"it''s\"') as said;",
		"select mbus4.post('q', 'a=')",
		"select mbus4.post('q', 'a=>1', expires => 'no time') -- a comment",
		"select mbus4.post('none', 'a=>1')",
		"select mbus4.post('q', 'a=>1', 'consume_after=>x')",
		"select * from mbus4.consume('q')",
		"select iid, m.data from mbus4.consume('w') m",
		"select * from mbus4.consumen('w', amt => 3)",
		"select * from mbus4.consumen('w', amt => 0)",
		"select * from mbus4.consume('w', 'nobody')",
		"select nonesuch from mbus4.consume('w')",
		"select mbus4.is_msg_exists('w1')",
		"select mbus4.peek('q')",
	} {
		plain, prepared := frontend.Connect(t, never, database), frontend.Connect(t, harness.Proxied(), database)
		for round := range 5 {
			for _, block := range []string{"", "begin", "begin; select 1/0"} {
				run := func(s *frontend.Session) string {
					harness.Ask(t, server, "delete from mbus4.message")
					s.Exchange("ReadyForQuery", &pgproto3.Query{String: "select mbus4.post('w', 'a=>1', iid => 'w' || n) from generate_series(1, 5) n"})
					if block != "" {
						s.Exchange("ReadyForQuery", &pgproto3.Query{String: block})
					}
					got := s.Exchange("ReadyForQuery", &pgproto3.Query{String: text})
					// After a Query the unnamed statement and portal are gone, even where it fails.
					got += "\n" + s.Exchange("ReadyForQuery", frontend.Parse("", "select 1"), frontend.Bind("", ""), frontend.Sync())
					got += "\n" + s.Exchange("ReadyForQuery", &pgproto3.Query{String: text})
					got += "\n" + s.Exchange("ReadyForQuery", frontend.Bind("x", ""), frontend.Sync())
					if !strings.HasSuffix(got, "E") { // a server that reads the portal of a failed Query may crash
						got += "\n" + s.Exchange("ReadyForQuery", frontend.Execute("", 0), frontend.Sync())
					}
					if block != "" {
						s.Exchange("ReadyForQuery", &pgproto3.Query{String: "rollback"})
					}
					return errorAlone.ReplaceAllString(varying.ReplaceAllString(got, "…"), "ErrorResponse")
				}
				if want, got := run(plain), run(prepared); got != want {
					t.Errorf("%s, after %q, round %d:\n%s", text, block, round, harness.LineDiff(want, got))
				}
			}
		}
		count := prepared.Exchange("ReadyForQuery", &pgproto3.Query{String: ofOurs})
		if strings.Contains(count, `"f"`) != strings.Contains(text, "nonesuch") {
			t.Errorf("%s: %s", text, count)
		}
	}
}

// A client that parses a text again and again as its unnamed statement gets the replies that it
// gets through a proxy which prepares nothing, whatever it does with the statement.
func TestPreparedFromParse(t *testing.T) {
	t.Parallel()
	database := harness.NewQueueDatabase(t, "q", "w")
	server := harness.Connect(t, harness.Direct(), database)
	never := harness.NewProxy(t, "--no-prepare").Endpoint
	bind := func(portal string, formats []int16, values ...string) pgproto3.FrontendMessage {
		m := &pgproto3.Bind{DestinationPortal: portal, ResultFormatCodes: formats}
		for _, v := range values {
			m.Parameters = append(m.Parameters, []byte(v))
		}
		return m
	}
	for _, c := range []struct {
		text   string
		types  []uint32
		values []string
	}{
		{"select mbus4.post($1, $2, iid => $3)", nil, []string{"q", "a=>1", "m"}},
		{"select mbus4.post('q', $1, expires => $2) as said", []uint32{0, 25}, []string{"a=>1", "2999-01-01"}},
		{"select mbus4.post('q', $1)", nil, []string{"a="}},
		{"select mbus4.post($1, 'a=>1')", nil, []string{"none"}},
		{"select iid, data from mbus4.consume('w')", nil, nil},
		{"select iid, m.data from mbus4.consumen($1, amt => $2) m", []uint32{25, 23}, []string{"w", "2"}},
		{"select mbus4.is_msg_exists($1)", []uint32{25}, []string{"w1"}},
		{"select nonesuch from mbus4.consume($1)", nil, []string{"w"}},
	} {
		parse := &pgproto3.Parse{Query: c.text, ParameterOIDs: c.types}
		other, sync := frontend.Parse("", "select 'another'"), frontend.Sync()
		once := []pgproto3.FrontendMessage{parse, bind("", nil, c.values...), frontend.DescribePortal(""), frontend.Execute("", 0), sync}
		uses := [][]pgproto3.FrontendMessage{
			once,
			{parse, frontend.DescribeStatement(""), bind("p", []int16{1}, c.values...), frontend.Execute("p", 1), frontend.Execute("p", 0), sync},
			{parse, bind("", nil, c.values...), frontend.Execute("", 0), bind("", nil, c.values...), frontend.Execute("", 0), sync},
			{parse, sync, bind("", nil, c.values...), frontend.Execute("", 0), sync},
			{parse, &pgproto3.Close{ObjectType: 'S'}, bind("", nil, c.values...), sync},
			{parse, other, bind("", nil), frontend.Execute("", 0), sync},
			{other, parse, bind("", nil, c.values...), frontend.Execute("", 0), sync},
			{parse, frontend.Bind("", "none"), other, sync, bind("", nil, c.values...), frontend.Execute("", 0), sync},
			{parse, bind("", nil, append(c.values, "one too many")...), frontend.Execute("", 0), sync},
			{parse, sync, &pgproto3.Query{String: "select 1"}, bind("", nil, c.values...), sync},
			{frontend.Parse("d", "deallocate all"), parse, frontend.Bind("d", "d"), frontend.Execute("d", 0), bind("", nil, c.values...), frontend.Execute("", 0), sync},
			{parse, frontend.Parse("d", "deallocate all"), frontend.Bind("d", "d"), frontend.Execute("d", 0), bind("", nil, c.values...), frontend.Execute("", 0), sync},
			{parse, bind("", nil, c.values...), &pgproto3.Query{String: "select 1"}, frontend.Execute("", 0), sync},
		}
		if len(c.values) == 3 { // a text that is not read
			uses = append(uses, []pgproto3.FrontendMessage{parse, frontend.Parse("", "select 'another'"+strings.Repeat(" ", 8<<20)), bind("", nil), frontend.Execute("", 0), sync})
		}
		plain, prepared := frontend.Connect(t, never, database), frontend.Connect(t, harness.Proxied(), database)
		for i, messages := range append(append([][]pgproto3.FrontendMessage{once, once, once, once}, uses...), uses...) {
			for _, block := range []string{"", "begin"} {
				run := func(s *frontend.Session) string {
					harness.Ask(t, server, "delete from mbus4.message")
					s.Exchange("ReadyForQuery", &pgproto3.Query{String: "select mbus4.post('w', 'a=>1', iid => 'w' || n) from generate_series(1, 5) n"})
					if block != "" {
						s.Exchange("ReadyForQuery", &pgproto3.Query{String: block})
					}
					got := s.Exchange(`DataRow "end"`, append(slices.Clone(messages), &pgproto3.Query{String: "rollback; select 'end'"})...)
					s.Exchange("ReadyForQuery")
					return varying.ReplaceAllString(got, "…")
				}
				if want, got := run(plain), run(prepared); got != want {
					t.Errorf("%s, use %d after %q:\n%s", c.text, i, block, harness.LineDiff(want, got))
				}
			}
		}
		if c.text != "select nonesuch from mbus4.consume($1)" {
			if count := prepared.Exchange("ReadyForQuery", &pgproto3.Query{String: ofOurs}); !strings.Contains(count, `"t"`) {
				t.Errorf("%s: %s", c.text, count)
			}
		}
	}
}

// The statements of a session are bounded in number, and those that were not run for long make room.
func TestPreparedAreBounded(t *testing.T) {
	t.Parallel()
	database := harness.NewQueueDatabase(t, "q")
	conn := harness.Connect(t, harness.Proxied(), database)
	for range 3 {
		for i := range 40 {
			for range 2 {
				harness.Want(t, conn, "f", fmt.Sprintf("select mbus4.is_msg_exists('m') as c%d", i))
			}
		}
		harness.Want(t, conn, "16", strings.Replace(ofOurs, "between 1 and 16", "", 1))
	}
}

// Statements that have gone are noticed, whoever has taken them away.
func TestPreparedGone(t *testing.T) {
	t.Parallel()
	database := harness.NewQueueDatabase(t, "q")
	for _, gone := range []string{
		"discard all", "deallocate all", "DEALLOCATE PREPARE ALL", "select 1; deallocate all; select 2", "begin; deallocate all; rollback",
		"do $$ begin execute 'deallocate all'; end $$", "begin; do $$ begin execute 'Deallocate all'; end $$; commit",
		"prepare d as select 1; deallocate all", "select 1; /* */ deallocate all", "do $$ begin execute 'deallocate ' || 'all'; end $$",
		"do $$ declare n text; begin for n in select name from pg_prepared_statements loop execute 'deallocate ' || quote_ident(n); end loop; end $$",
	} {
		conn := harness.Connect(t, harness.Proxied(), database)
		for range 3 {
			prepareOnce(t, conn, "select mbus4.is_msg_exists('m')")
			harness.Ask(t, conn, gone)
			harness.Want(t, conn, "f", ofOurs)
			harness.Want(t, conn, "f", "select mbus4.is_msg_exists('m')")
			harness.Want(t, conn, "t", ofOurs)
			harness.Ask(t, conn, "begin")
			harness.Want(t, conn, "f", "select mbus4.is_msg_exists('m')")
			if !strings.Contains(strings.ToLower(gone), "discard") && !strings.Contains(gone, "begin;") {
				harness.Ask(t, conn, gone)
				harness.Want(t, conn, "f", "select mbus4.is_msg_exists('m')")
			}
			harness.Ask(t, conn, "commit")
		}
		name := harness.Ask(t, conn, "select name from pg_prepared_statements where name like '\\_mbus4\\_%'")
		harness.Ask(t, conn, `deallocate "`+name+`"`)
		harness.Want(t, conn, "f", "select mbus4.is_msg_exists('m')")
	}
}

// A statement that stays prepared follows what the session and the schema become.
func TestPreparedFollowsTheSession(t *testing.T) {
	t.Parallel()
	database := harness.NewQueueDatabase(t, "q")
	conn, server := harness.Connect(t, harness.Proxied(), database), harness.Connect(t, harness.Direct(), database)
	const text = "select iid, data from mbus4.consume('q')"
	const post, posted = "select mbus4.post('q', 'a=>1', iid => 'm')", `m|"a"=>"1"`
	prepareOnce(t, conn, text)
	// The literal is read in the encoding that the session has now, and with its backslashes.
	for _, s := range []struct{ set, literal, want string }{
		{"set client_encoding to latin1", "a=>\xe4", `"a"=>"ä"`},
		{"set client_encoding to utf8", "a=>ä", `"a"=>"ä"`},
		{"set standard_conforming_strings to off", `a=>"\\"x"`, `"a"=>"\"x"`},
		{"set standard_conforming_strings to on", `a=>"\"x"`, `"a"=>"\"x"`},
	} {
		harness.Ask(t, conn, s.set)
		for range 4 {
			harness.Ask(t, conn, "select mbus4.post('q', '"+s.literal+"', iid => 'm')")
			harness.Want(t, server, s.want, "select data from mbus4.message")
			harness.Ask(t, conn, "set client_encoding to utf8")
			harness.Ask(t, conn, text)
			harness.Ask(t, conn, s.set)
		}
	}
	// Tables of the client's in its path are not ours.
	harness.Ask(t, conn, "create schema mine; create table mine.message (x int); create table mine.consumer (x int); set search_path to mine, public")
	for range 3 {
		harness.Ask(t, conn, post)
		harness.Want(t, conn, posted, text)
		harness.Want(t, conn, "", text)
	}
	// Rights are those of the role that the session has now.
	role := harness.NewRole(t)
	harness.Ask(t, conn, "set role "+role)
	for range 3 {
		harness.Refused(t, conn, "42501", text)
	}
	harness.Ask(t, conn, "reset role")
	harness.Want(t, conn, "", text)
	// The queue is another one.
	harness.Ask(t, conn, "select mbus4.drop_queue('q')")
	harness.Refused(t, conn, "42704", text)
	harness.Ask(t, conn, "select mbus4.create_queue('q', 1)")
	harness.Ask(t, conn, post)
	harness.Want(t, conn, posted, text)
	// So is the whole schema.
	harness.Ask(t, server, "drop schema mbus4 cascade")
	if _, err := harness.Query(harness.Context(t), conn, text); err == nil {
		t.Error("a call without the schema succeeded")
	}
	if out, err := harness.Init(t, database); err != nil {
		t.Fatal(out, err)
	}
	for range 4 {
		harness.Ask(t, conn, "select mbus4.create_queue('q', 1)")
		harness.Ask(t, conn, post)
		harness.Want(t, conn, posted, text)
		harness.Ask(t, conn, "select mbus4.drop_queue('q')")
	}
}

// Queries of which the first has not been answered when the second comes, or that come during a
// COPY, are answered as ever.
func TestPreparedWaitsForQuiet(t *testing.T) {
	t.Parallel()
	database := harness.NewQueueDatabase(t, "q")
	harness.Ask(t, harness.Connect(t, harness.Direct(), database), "create table copied (x text)")
	const text = "select mbus4.is_msg_exists('m')"
	var want string
	for _, e := range []harness.Endpoint{harness.NewProxy(t, "--no-prepare").Endpoint, harness.Proxied()} {
		s := frontend.Connect(t, e, database)
		var got strings.Builder
		for range 3 {
			got.WriteString(s.Exchange("ReadyForQuery", &pgproto3.Query{String: text}))
		}
		q := &pgproto3.Query{String: text}
		end := &pgproto3.Query{String: "select 'end'"}
		got.WriteString(s.Exchange(`DataRow "end"`, q, q, q, end))
		got.WriteString(s.Exchange("ReadyForQuery"))
		got.WriteString(s.Exchange(`DataRow "end"`, frontend.Parse("", text), frontend.Bind("", ""), q, frontend.Execute("", 0), frontend.Sync(), q, end))
		got.WriteString(s.Exchange("ReadyForQuery"))
		got.WriteString(s.Exchange("BindComplete", frontend.Parse("p", text), frontend.Bind("x", "p"), frontend.Flush()))
		got.WriteString(s.Exchange("ReadyForQuery", q))
		got.WriteString(s.Exchange("CopyInResponse", &pgproto3.Query{String: "copy copied from stdin"}))
		got.WriteString(s.Exchange(`DataRow "end"`, &pgproto3.CopyData{Data: []byte("1\n")}, &pgproto3.CopyDone{}, q, q, end))
		got.WriteString(s.Exchange("ReadyForQuery"))
		if want == "" {
			want = got.String()
		} else if got.String() != want {
			t.Error(harness.LineDiff(want, got.String()))
		}
	}
}

// Sessions that send what others send lose and double nothing while everything around them changes.
func TestPreparedUnderChange(t *testing.T) {
	t.Parallel()
	database := harness.NewQueueDatabase(t, "q")
	const clients, each = 4, 60
	var working sync.WaitGroup
	for c := range clients {
		conn := harness.Connect(t, harness.Proxied(), database)
		working.Go(func() {
			for i := range each {
				texts := []string{fmt.Sprintf("select mbus4.post('q', 'n=>%d', iid => 'm%d-%d')", i, c, i)}
				switch i % 12 {
				case 3:
					texts = append(texts, "discard all")
				case 5:
					texts = append(texts, "begin")
				case 8:
					texts = append(texts, "commit")
				}
				for _, text := range texts {
					if _, err := harness.Query(harness.Context(t), conn, text); err != nil {
						t.Errorf("%s: %s", text, harness.Describe(err))
						return
					}
				}
			}
		})
	}
	changes := harness.Connect(t, harness.Proxied(), database)
	for i := range 20 {
		harness.Ask(t, changes, fmt.Sprintf("select mbus4.create_consumer('q', 'c%d', $$t.iid <> 'x%d'$$)", i, i))
		harness.Ask(t, changes, fmt.Sprintf("select mbus4.drop_consumer('q', 'c%d')", i))
	}
	working.Wait()
	taken := map[string]int{}
	for {
		iid := harness.Ask(t, changes, "select iid from mbus4.consume('q')")
		if iid == "" {
			break
		}
		if taken[iid]++; taken[iid] > 1 {
			t.Errorf("%s came twice", iid)
		}
	}
	if len(taken) != clients*each {
		t.Errorf("%d messages came, want %d", len(taken), clients*each)
	}
}
