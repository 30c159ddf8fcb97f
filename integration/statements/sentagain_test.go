package statements

import (
	"fmt"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5/pgproto3"

	"mbusproxy/integration/internal/frontend"
	"mbusproxy/integration/internal/harness"
)

// takesAway makes a function of which no text and no tag shows that it deallocates all statements.
const takesAway = "create function hidden() returns void language plpgsql as $$ begin execute 'deall' || 'ocate all'; end $$"

// A client whose functions deallocate the statements of its session gets the replies that it gets
// through a proxy which prepares nothing, whatever it sends behind a call, and in the next calls;
// in a Query and in a Parse of an unnamed statement.
func TestSentAgain(t *testing.T) {
	t.Parallel()
	database := harness.NewQueueDatabase(t, "q", "w")
	server := harness.Connect(t, harness.Direct(), database)
	harness.Ask(t, server, takesAway)
	never := harness.NewProxy(t, "--no-prepare").Endpoint
	query := func(text string) []pgproto3.FrontendMessage {
		return []pgproto3.FrontendMessage{&pgproto3.Query{String: text}}
	}
	unnamed := func(text string, values ...any) []pgproto3.FrontendMessage {
		return []pgproto3.FrontendMessage{frontend.Parse("", text), frontend.Bind("", "", values...), frontend.DescribePortal(""), frontend.Execute("", 0), frontend.Sync()}
	}
	for what, call := range map[string][]pgproto3.FrontendMessage{
		"a post":             query("select mbus4.post('q', 'a=>1', iid => 'm')"),
		"a post that fails":  query("select mbus4.post('q', 'a=>1', expires => 'no time') -- a comment"),
		"a consume":          query("select iid, m.data from mbus4.consume('w') m"),
		"many":               query("select * from mbus4.consumen('w', amt => 3)"),
		"unnamed post":       unnamed("select mbus4.post($1, $2, iid => $3)", "q", "a=>1", "m"),
		"unnamed that fails": unnamed("select mbus4.post($1, 'a=>1', iid => 'm')", "none"),
		"unnamed consume":    unnamed("select iid, data from mbus4.consume('w')"),
		"described":          {frontend.Parse("", "select mbus4.is_msg_exists($1)"), frontend.DescribeStatement(""), frontend.Bind("", "", "w1"), frontend.Execute("", 0), frontend.Bind("", "", "none"), frontend.Execute("", 0), frontend.Sync()},
	} {
		_, simple := call[0].(*pgproto3.Query)
		behind := [][]pgproto3.FrontendMessage{nil}
		if simple { // behind the others it may come too early
			behind = append(behind, call, append(query("select mbus4.post('w', 'b=>2', iid => 'behind')"), query("select 'simple'; select 1/0")...),
				unnamed("select iid from mbus4.consume($1)", "w"), unnamed("select 1/0"), []pgproto3.FrontendMessage{frontend.Bind("", ""), frontend.Sync()},
				[]pgproto3.FrontendMessage{frontend.Flush(), &pgproto3.CopyData{Data: []byte("stray")}, &pgproto3.CopyFail{Message: "stray"}, frontend.Sync(), &pgproto3.FunctionCall{Function: 1610}},
				query("begin"), query("select hidden()"), query("select mbus4.post('q', '"+strings.Repeat("long", 50_000)+"=>1')"))
		}
		for i, more := range behind {
			var want string
			for _, e := range []harness.Endpoint{never, harness.Proxied()} {
				s := frontend.Connect(t, e, database)
				said := func(messages ...pgproto3.FrontendMessage) string {
					got := s.Exchange(`DataRow "end"`, append(messages[:len(messages):len(messages)], &pgproto3.Query{String: "select 'end'"})...)
					return varying.ReplaceAllString(got+"\n"+s.Exchange("ReadyForQuery"), "…")
				}
				harness.Ask(t, server, "delete from mbus4.message")
				said(query("select mbus4.post('w', 'a=>1', iid => 'w' || n) from generate_series(1, 9) n")...)
				for range 4 {
					s.Exchange("ReadyForQuery", call...)
				}
				got := s.Exchange("ReadyForQuery", query("select hidden()")...)
				got += s.Exchange("ReadyForQuery", call...) + said(more...)
				got += said(query("rollback")...) + s.Exchange("ReadyForQuery", call...) + said(call...) + said()
				got += harness.Ask(t, server, "select iid, data from mbus4.message order by 1")
				got = errorAlone.ReplaceAllString(varying.ReplaceAllString(got, "…"), "ErrorResponse")
				if want == "" {
					want = got
				} else if got != want {
					t.Errorf("%s, %d:\n%s", what, i, harness.LineDiff(want, got))
				}
			}
		}
	}
}

// Behind a call that is sent again all comes in its order, also where the client does not wait, or leaves at once.
func TestSentAgainInOrder(t *testing.T) {
	t.Parallel()
	database := harness.NewQueueDatabase(t, "q")
	server := harness.Connect(t, harness.Direct(), database)
	harness.Ask(t, server, takesAway)
	begin := func() (*frontend.Session, func(n int) pgproto3.FrontendMessage) {
		s := frontend.Connect(t, harness.Proxied(), database)
		post := func(n int) pgproto3.FrontendMessage {
			return &pgproto3.Query{String: fmt.Sprintf("select mbus4.post('q', 'n=>%d', iid => 'm%d')", n, n)}
		}
		for n := range 4 {
			s.Exchange("ReadyForQuery", post(n))
		}
		s.Exchange("ReadyForQuery", &pgproto3.Query{String: "select hidden()"})
		harness.Ask(t, server, "delete from mbus4.message")
		return s, post
	}
	const posted = "RowDescription post:25:0\nDataRow \"m%d\"\nCommandComplete SELECT 1\nReadyForQuery I"
	s, post := begin()
	for n := 5; n < 9; n++ {
		s.Frontend.Send(post(n))
	}
	if err := s.Frontend.Flush(); err != nil {
		t.Fatal(err)
	}
	for n := 5; n < 9; n++ {
		if got, want := s.Exchange("ReadyForQuery"), fmt.Sprintf(posted, n); got != want {
			t.Errorf("the %dth:\n%s", n, harness.LineDiff(want, got))
		}
	}
	harness.Want(t, server, "m5\nm6\nm7\nm8", "select iid from mbus4.message order by id")
	for _, leaves := range []string{"Terminate", "the end of the stream"} {
		s, post := begin()
		s.Frontend.Send(post(1))
		if leaves == "Terminate" {
			s.Frontend.Send(&pgproto3.Terminate{})
		}
		if err := s.Frontend.Flush(); err != nil {
			t.Fatal(err)
		}
		if leaves != "Terminate" {
			if err := s.Hijacked.Conn.(interface{ CloseWrite() error }).CloseWrite(); err != nil {
				t.Fatal(err)
			}
		}
		if got, want := s.Exchange("ReadyForQuery"), fmt.Sprintf(posted, 1); got != want {
			t.Errorf("behind it %s:\n%s", leaves, harness.LineDiff(want, got))
		}
		if m, err := s.Frontend.Receive(); err == nil {
			t.Errorf("behind it %s: then came %T", leaves, m)
		}
		harness.Want(t, server, "m1", "select iid from mbus4.message")
	}
}

// In a block the transaction has failed with the statement. So the client hears of it; once a session.
func TestNotSentAgainInBlock(t *testing.T) {
	t.Parallel()
	database := harness.NewQueueDatabase(t, "q")
	conn := harness.Connect(t, harness.Proxied(), database)
	harness.Ask(t, conn, takesAway)
	const call = "select mbus4.is_msg_exists('m')"
	for range 4 { // to look for the statement would have the proxy make it anew
		harness.Ask(t, conn, call)
	}
	harness.Ask(t, conn, "begin")
	harness.Ask(t, conn, "select hidden()")
	harness.Refused(t, conn, "26000", call)
	harness.Refused(t, conn, "25P02", call)
	harness.Ask(t, conn, "rollback")
	for range 3 {
		harness.Want(t, conn, "f", call)
		harness.Want(t, conn, "f", ofOurs)
		harness.Ask(t, conn, "begin")
		harness.Ask(t, conn, "select hidden()")
		harness.Want(t, conn, "f", call)
		harness.Ask(t, conn, "commit")
	}
}

// An unnamed statement is not sent again in a block, behind other messages, where the client goes
// on before it has the replies, and where there is much to be kept for it. Then too the client
// hears of it once a session.
func TestNotSentAgainUnnamed(t *testing.T) {
	t.Parallel()
	database := harness.NewQueueDatabase(t, "q")
	server := harness.Connect(t, harness.Direct(), database)
	harness.Ask(t, server, takesAway)
	parse, sync := frontend.Parse("", "select mbus4.is_msg_exists($1)"), frontend.Sync()
	bind, execute := frontend.Bind("", "", "m"), frontend.Execute("", 0)
	once := []pgproto3.FrontendMessage{parse, bind, execute, sync}
	const refused, answered = "ErrorResponse 26000 at 0\nReadyForQuery I", "ParseComplete\nBindComplete\nDataRow \"f\"\nCommandComplete SELECT 1\nReadyForQuery I"
	for name, c := range map[string]struct {
		before, messages []pgproto3.FrontendMessage
		want             []string
	}{
		"in a block": {[]pgproto3.FrontendMessage{&pgproto3.Query{String: "begin"}}, once, []string{"ParseComplete\n" + strings.Replace(refused, "y I", "y E", 1)}},
		"behind other messages": {
			nil,
			[]pgproto3.FrontendMessage{parse, &pgproto3.Close{ObjectType: 'P'}, bind, execute, sync},
			[]string{"ParseComplete\nCloseComplete\n" + refused},
		},
		"flushed":      {nil, []pgproto3.FrontendMessage{parse, bind, execute, frontend.Flush(), sync}, []string{"ParseComplete\n" + refused}},
		"twice":        {nil, append(once[:4:4], once...), []string{"ParseComplete\n" + refused, answered}},
		"large values": {nil, []pgproto3.FrontendMessage{parse, frontend.Bind("", "", strings.Repeat("x", 5_000)), execute, sync}, []string{"ParseComplete\n" + refused}},
		"as usual":     {nil, once, []string{answered}},
	} {
		s := frontend.Connect(t, harness.Proxied(), database)
		for range 4 {
			s.Exchange("ReadyForQuery", once...)
		}
		if c.before != nil {
			s.Exchange("ReadyForQuery", c.before...)
		}
		s.Exchange("ReadyForQuery", &pgproto3.Query{String: "select hidden()"})
		for i, want := range c.want {
			var messages []pgproto3.FrontendMessage
			if i == 0 {
				messages = c.messages
			}
			if got := s.Exchange("ReadyForQuery", messages...); got != want {
				t.Errorf("%s:\n%s", name, harness.LineDiff(want, got))
			}
		}
		s.Exchange("ReadyForQuery", &pgproto3.Query{String: "rollback"})
		for range 2 {
			if got := s.Exchange("ReadyForQuery", once...); got != answered {
				t.Errorf("%s, the next:\n%s", name, harness.LineDiff(answered, got))
			}
		}
	}
}

// A statement whose columns have got another type is prepared anew, and nothing shows.
func TestSentAgainWithOtherTypes(t *testing.T) {
	t.Parallel()
	for _, unnamed := range []bool{false, true} {
		database := harness.NewQueueDatabase(t, "q")
		conn, server := harness.Connect(t, harness.Proxied(), database), harness.Connect(t, harness.Direct(), database)
		call := func(want string) {
			t.Helper()
			if unnamed {
				harness.Want(t, conn, want, "select iid, data from mbus4.consume($1)", "q")
			} else {
				harness.Want(t, conn, want, "select iid, data from mbus4.consume('q')")
			}
		}
		for range 4 {
			call("")
		}
		before := harness.Ask(t, server, "select 'hstore'::regtype::oid")
		harness.Ask(t, server, "drop schema mbus4 cascade; drop extension hstore cascade; create extension hstore")
		if out, err := harness.Init(t, database); err != nil {
			t.Fatal(out, err)
		}
		if harness.Ask(t, server, "select 'hstore'::regtype::oid") == before {
			t.Fatal("the type is the same")
		}
		other := harness.Connect(t, harness.Proxied(), database)
		harness.Ask(t, other, "select mbus4.create_queue('q', 1)")
		for range 4 {
			harness.Ask(t, other, "select mbus4.post('q', 'a=>1', iid => 'm')")
			call(`m|"a"=>"1"`)
		}
		harness.Want(t, conn, "t", ofOurs)
	}
}
