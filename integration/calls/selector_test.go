package calls

import (
	"fmt"
	"strings"
	"testing"

	"mbusproxy/integration/internal/forms"
	"mbusproxy/integration/internal/harness"
)

// A selector that breaks a rule is refused where it is given, the report says which rule, and nothing
// is left behind: literal or parameter, consumer, trigger or temporary consumer.
func TestSelectorRefusals(t *testing.T) {
	t.Parallel()
	cases := []struct{ selector, code, rule string }{
		{"(t.properties->'by')=current_user", "42P17", "current_user is not allowed"},
		{"t.added < localtimestamp(0)", "42P17", "localtimestamp is not allowed"},
		{"t.added < now()", "42P17", "the function now is not allowed"},
		{"nextval('s') > 0", "42P17", "the function nextval is not allowed"},
		{"t.added::timestamptz > '2001-01-01Z'", "42704", "the type timestamptz is not allowed"},
		{"t.added::text > 'x'", "42846", "a cast from timestamp without time zone to text is not allowed"},
		{"fickle(t.iid)", "42883", "the function fickle is not allowed"},
		{"'x'::positive = 1", "42704", "the type positive is not allowed"},
		{"t.iid in (select 'x')", "0A000", "a subquery is not allowed"},
		{"exists (select from pg_class)", "0A000", "a subquery is not allowed"},
		{"t.iid = $1", "0A000", "a parameter is not allowed"},
		{"true, false", "42601", "must be one SQL expression"},
		{"true) or (true", "42601", "must be one SQL expression"},
		{"1; select 2", "42601", "must be one SQL expression"},
		{"true; drop table kept", "42601", "must be one SQL expression"},
		{"true as x", "42601", "must be one SQL expression"},
		{"true from kept", "42601", "must be one SQL expression"},
		{"true union select false", "42601", "must be one SQL expression"},
		{"t.*", "42601", "must be one SQL expression"},
		{"-- only a comment", "42601", "must be one SQL expression"},
		{"/* no end", "42601", "must be one SQL expression"},
		{"t.id >> ", "42601", "must be one SQL expression"},
		{"1", "42804", "must be boolean"},
		{"t", "42804", "the whole row t"},
		{"t.nosuch = 1", "42703", "nothing but the columns of t"},
		{"u.iid = 'x'", "42P01", "nothing but the columns of t"},
		{"t.iid = 7", "42883", "operator does not exist"},
		{"nosuch(t.iid)", "42883", "nosuch"},
		{"count(*) > 1", "42803", "aggregate"},
		{"row_number() over () > 1", "42P20", "window"},
		{"generate_series(1, 2) > 1", "0A000", "set"},
		{"mbus4.is_msg_exists(t.iid)", "42883", "is_msg_exists"},
		{"'x'::int > 1", "22P02", "x"},
	}
	calls := []string{
		"select mbus4.create_consumer('q', 'c', $1)",
		"select mbus4.create_trigger('q', 'r', $1)",
		"select mbus4.create_temporary_consumer('q', $1)",
	}
	inBothProtocols(t, []string{"q", "r"}, func(t *testing.T, s *forms.Session) {
		harness.Ask(t, s.Conn, `create table kept (); create sequence s; create domain positive as int check (value > 0);
			create function fickle(text) returns boolean language plpgsql as $$ begin return $1 is null; end $$`)
		for _, c := range cases {
			for i, call := range calls {
				if i > 0 && s.Form.Name != "simple" {
					continue
				}
				said := s.Refused(t, c.code, call, c.selector)
				if !strings.Contains(said, c.rule) || !strings.Contains(said, c.selector) {
					t.Errorf("%s: does not say %q: %s", c.selector, c.rule, said)
				}
			}
		}
		s.Want(t, "3|0|0", `select (select count(*) from mbus4.consumer where qname <> 'semaphore_events'), (select count(*) from kept),
			(select count(*) from mbus4.selector)`)
	})
}

// What selectors may be, and which of the messages it selects: a is an empty hstore.
func TestSelectorsSelect(t *testing.T) {
	t.Parallel()
	cases := []struct{ selector, got string }{
		{"(t.properties->'STATE')='DONE'", "b"}, // null for a counts as false
		{"(t.data->'n')::int > 1", "c"},
		{"not (t.data ? 'n')", "a"},
		{"null::boolean", ""},
		{"false", ""},
		{"true", "abc"},
		{"", "abc"},
		{" \n\t", "abc"},
		{"t.iid = 'b' -- not a, not c", "b"},
		{"/* which? */ t.iid = /* b */ 'b'", "b"},
		{"t.iid = 'b'\n-- and\nor t.iid = 'c'", "bc"},
		{"t.data->'who' = 'O''Brien'", "b"},
		{"t.data->'who' = $$O'Brien$$", "b"},
		{"t.data->'who' = 'größer ☃'", "c"},
		{`t.data->'who' = E'O\'Brien'`, "b"},
		{`t.iid ~ '^\w$' and t.iid <> '%s %1$s {hstore} {c} {k} $1'`, "abc"},
		{"case when t.iid = 'a' then true end", "a"},
		{"mod((t.data->'n')::int, 2) = 0", "c"},
		{"coalesce((t.data->'who')::int, 0) = 0", "a"}, // an error is no match, whatever stands around it
		{"10 / (coalesce((t.data->'n')::int, 0) - 1) > 0", "c"},
		{"t.iid = any ('{a,c}') and t.id > 0 and t.received = '{}'", "ac"},
		{"(t).iid = 'c' or (((t)).data) = ''", "ac"},
		{"t.headers->'kind' = 'x'", "c"},
		{"t.headers->'destination_queue' = 'q' and t.headers ? 'source_db' and t.headers ? 'enqueue_time'", "abc"},
		{"t.delayed_until < timestamp '2001-01-01'", "b"},
		{"t.expires > '2998-01-01'", "c"},
	}
	inBothProtocols(t, []string{"q"}, func(t *testing.T, s *forms.Session) {
		for i, c := range cases {
			s.Want(t, "", "select mbus4.create_consumer('q', $1, $2)", fmt.Sprint("c", i), c.selector)
			s.Want(t, "", "select mbus4.create_consumer($1, 'q', $2)", fmt.Sprint("old", i), c.selector) // as legacy code has it
		}
		s.Want(t, "a", "select mbus4.post('q', '', iid => 'a')")
		s.Want(t, "b", "select mbus4.post_q($1, null, 'STATE=>DONE', '2000-01-01', iid => 'b')", `n=>1, who=>"O'Brien"`)
		s.Want(t, "c", "select mbus4.post('q', $1, 'kind=>x', expires => '2999-01-01', iid => 'c')", `n=>2, who=>"größer ☃"`)
		for i, c := range cases {
			for _, name := range []string{"c", "old"} {
				got := harness.Ask(t, s.Conn, fmt.Sprintf("select coalesce(string_agg(iid, '' order by iid), '') from mbus4.consumen('q', '%s%d', 9)", name, i))
				if got != c.got {
					t.Errorf("%s%d, %s: selects %q, want %q", name, i, c.selector, got, c.got)
				}
			}
		}
	})
}

// Who subscribes late gets later messages only, and drops out when dropped.
func TestSelectorLateSubscriber(t *testing.T) {
	t.Parallel()
	inBothProtocols(t, []string{"q"}, func(t *testing.T, s *forms.Session) {
		post := "select mbus4.post('q', hstore('n', $1), iid => $2)"
		s.Want(t, "m1", post, 1, "m1")
		s.Want(t, "", "select mbus4.create_consumer('q', 'odd', $1)", "(t.data->'n')::int % 2 = 1")
		s.Want(t, "m2", post, 2, "m2")
		s.Want(t, "m3", post, 3, "m3")
		s.Want(t, "m3", "select iid from mbus4.consumen('q', 'odd', 9)")
		s.Want(t, "", "select mbus4.drop_consumer('odd', 'q')")
		s.Want(t, "m5", post, 5, "m5")
		s.Want(t, "", "select mbus4.create_consumer('q', 'odd', $1)", "(t.data->'n')::int % 2 = 0") // the same name, another selector
		s.Want(t, "m6", post, 6, "m6")
		s.Want(t, "m7", post, 7, "m7")
		s.Want(t, "m6", "select iid from mbus4.consumen('q', 'odd', 9)")
	})
}

// A consumer with a selector is in force for statements that were prepared before, through whichever
// proxy it came.
func TestSelectorAcrossProxies(t *testing.T) {
	t.Parallel()
	second := harness.NewProxy(t)
	for _, f := range protocols() {
		t.Run(f.Name, func(t *testing.T) {
			database := harness.NewQueueDatabase(t, "q")
			one := &forms.Session{Form: f, Conn: harness.Connect(t, harness.Proxied(), database), Database: database}
			two := &forms.Session{Form: f, Conn: harness.Connect(t, second.Endpoint, database), Database: database}
			posts := []string{
				"select mbus4.post('q', hstore('n', $1), iid => $2)",
				"select $2 || left(mbus4.post_q(hstore('n', $1)), 0)",
			}
			for round := range 4 {
				maker, other := one, two
				if round%2 == 1 {
					maker, other = two, one
				}
				name := fmt.Sprint("c", round)
				for _, s := range []*forms.Session{one, two} { // prepared and planned before there is the consumer
					for _, sql := range posts {
						s.Want(t, "warm", sql, 0, "warm")
						s.Want(t, "2", "select count(*) + $1 from mbus4.consumen('q', amt => 9)", 1)
					}
				}
				maker.Want(t, "", "select mbus4.create_consumer('q', $1, $2)", name, fmt.Sprintf("(t.data->'n')::int = %d", round))
				for _, s := range []*forms.Session{other, maker} {
					s.Want(t, "m", posts[0], round, "m")
					s.Want(t, "n", posts[0], round+1, "n")
					s.Want(t, "x", posts[1], round, "x")
					s.Want(t, "m|"+fmt.Sprint(round), "select iid, data->'n' from mbus4.consume('q', $1)", name)
					s.Want(t, "1|"+fmt.Sprint(round), "select count(*), min(data->'n') from mbus4.consumen('q', $1, 9)", name)
					s.Want(t, "3", "select count(*) from mbus4.consumen('q', amt => 9)")
				}
			}
		})
	}
}

// A consumer that holds its messages in an open transaction takes nothing from another, selector or not.
func TestSelectorConsumersDoNotWait(t *testing.T) {
	t.Parallel()
	database := harness.NewQueueDatabase(t, "q")
	one, two := harness.Connect(t, harness.Proxied(), database), harness.Connect(t, harness.Proxied(), database)
	harness.Ask(t, one, "select mbus4.create_consumer('q', 'a', '(t.data->''n'')::int > 1'); select mbus4.create_consumer('q', 'b', '(t.data->''n'')::int < 3')")
	harness.Ask(t, one, "select mbus4.post('q', hstore('n', n::text), iid => 'm' || n) from generate_series(1, 3) n")
	harness.Want(t, one, "m2\nm3", "begin; select iid from mbus4.consumen('q', 'a', 9)")
	harness.Want(t, two, "m1\nm2", "begin; select iid from mbus4.consumen('q', 'b', 9)")
	harness.Want(t, two, "m1\nm2\nm3", "select iid from mbus4.consumen('q', amt => 9)")
	harness.Want(t, two, "", "select iid from mbus4.consumen('q', 'a', 9)")
	harness.Ask(t, one, "rollback")
	harness.Want(t, two, "m2\nm3", "select iid from mbus4.consumen('q', 'a', 9)")
	harness.Ask(t, two, "commit")
}

// noindex gives the text of an index that nobody needs, as a NOTICE.
func TestSelectorNoIndex(t *testing.T) {
	t.Parallel()
	database := harness.NewQueueDatabase(t, "q")
	conn, notices := harness.ConnectNotices(t, database)
	for i, sql := range []string{
		"select mbus4.create_consumer('q', 'c0', noindex => true)",
		"select mbus4.create_consumer('q', 'c1', '(t.data->''n'')::int > 1', true)",
	} {
		*notices = nil
		harness.Ask(t, conn, sql)
		if len(*notices) != 1 {
			t.Fatalf("%s: %d notices", sql, len(*notices))
		}
		n := (*notices)[0]
		if n.Severity != "NOTICE" || n.Code != "00000" || !strings.HasPrefix(n.Message, "create index concurrently on mbus4.message") {
			t.Errorf("%s: %s %s %s", sql, n.Severity, n.Code, n.Message)
		}
		harness.Ask(t, harness.Connect(t, harness.Direct(), database), n.Message) // it is what it says
		harness.Want(t, conn, "m", "select mbus4.post('q', 'n=>2', iid => $1)", "m")
		harness.Want(t, conn, "m", "select iid from mbus4.consume('q')")
		harness.Want(t, conn, "m", "select iid from mbus4.consume('q', $1)", fmt.Sprint("c", i))
	}
	*notices = nil
	harness.Ask(t, conn, "select mbus4.create_consumer('q', 'c2', noindex => false)")
	if len(*notices) != 0 {
		t.Errorf("notices without noindex: %v", (*notices)[0])
	}
}

// Neither the poster's search path nor what it holds decides what a selector means.
func TestSelectorSearchPath(t *testing.T) {
	t.Parallel()
	inBothProtocols(t, []string{"q"}, func(t *testing.T, s *forms.Session) {
		s.Want(t, "", "select mbus4.create_consumer('q', 'c', $1)", "(t.data->'n')='1' and lower(t.iid) = 'm'")
		harness.Ask(t, s.Conn, `create schema mine; create function mine.lower(text) returns text language sql immutable return 'mine';
			create function mine.fetchval(hstore, text) returns text language sql immutable return 'mine';
			create operator mine.-> (leftarg = hstore, rightarg = text, function = mine.fetchval)`)
		for i, path := range []string{"pg_catalog", "''", "mine, pg_catalog, public", "public"} {
			harness.Ask(t, s.Conn, "set search_path = "+path)
			post := "select mbus4.post('q', $1, iid => $2)"
			s.Want(t, "m", post, `"n"=>"1"`, "m")
			s.Want(t, "o", post, `"n"=>"2"`, "o")
			s.Want(t, "t", "select mbus4.post('q', $1) is not null", `"n"=>"1"`)
			s.Want(t, "m", "select iid from mbus4.consumen('q', $1, 9)", "c")
			if i%2 == 0 { // made under this path, too
				s.Want(t, "", "select mbus4.create_consumer('q', $1, $2)", fmt.Sprint("c", i), "(t.data->'n')='2'")
				s.Want(t, "p", post, `"n"=>"2"`, "p")
				s.Want(t, "p", "select iid from mbus4.consumen('q', $1, 9)", fmt.Sprint("c", i))
			}
			s.Want(t, "t", "select count(*) > 2 from mbus4.consumen('q', amt => 9)")
		}
	})
}
