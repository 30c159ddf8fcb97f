package calls

import (
	"fmt"
	"strings"
	"sync"
	"testing"

	"mbusproxy/integration/internal/forms"
	"mbusproxy/integration/internal/harness"
)

// dyn_consume gives the first message that meets a selector, wherever that comes from.
func TestDynConsumeSelectors(t *testing.T) {
	t.Parallel()
	cases := []struct{ selector, got string }{
		{"(t.data->'n')::int > 2", "m3"},
		{"t.data->'n' = '4' -- a comment", "m4"},
		{"t.iid = 'm2' or /* or */ t.iid = 'm3'", "m2"},
		{"t.properties->'x' = 'y'", ""}, // null is false
		{"", "m1"},
		{"  ", "m1"},
		{"true", "m1"},
		{"null", ""},
		{"t.data->'who' = 'O''Brien ☃'", "m5"},
		{"t.data->'who' = $$O'Brien ☃$$", "m5"},
		{"t.headers->'destination' = 'q' and t.headers->'destination_queue' = 'q' and t.id > 0", "m1"},
		{"t.iid ~ '^m[5%s]$' and '%1$s %%' <> '$1'", "m5"},
		{"t.added <= now()::timestamp", "m1"}, // it is as the session says it, once
		{"t.data ? 'who' and session_user = current_user", "m5"},
		{"t.iid = (select 'm3')", "m3"},
		{`data->'n' = '3' and cardinality("t"."received") is distinct from 9`, "m3"}, // names without t
		{"T . Data -> 'n' = '2' and expires is null", "m2"},
		{"to_jsonb(t)->>'iid' = 'm2'", "m2"}, // t as a whole
		{"t.* is distinct from null", "m1"},
		{"U&\"\\0074\".data->'n' = '4'", "m4"},
	}
	inBothProtocols(t, []string{"q"}, func(t *testing.T, s *forms.Session) {
		harness.Ask(t, s.Conn, "create table chosen (selector text)")
		s.Want(t, "m1\nm2\nm3\nm4", "select mbus4.post('q', hstore('n', n::text), iid => 'm' || n) from generate_series(1, 4) n")
		s.Want(t, "m5", "select mbus4.post('q', $1, iid => 'm5')", `who=>"O'Brien ☃"`)
		for _, c := range cases {
			literal := "'" + strings.ReplaceAll(c.selector, "'", "''") + "'"
			harness.Ask(t, s.Conn, "truncate chosen; insert into chosen values ("+literal+")")
			for _, call := range []forms.Step{
				forms.Do("select iid from mbus4.dyn_consume('q', $1)", c.selector),
				forms.Do("select iid from mbus4.dyn_consume('q', " + literal + ")"),
				forms.Do("select (mbus4.dyn_consume('q', selector)).iid from chosen"),
				forms.Do("select iid from mbus4.dyn_consume('q', (select selector from chosen), 'default')"),
			} {
				s.Want(t, "", "begin")
				s.Want(t, c.got, call.SQL, call.Args...)
				s.Want(t, "", "rollback")
			}
		}
		// The order among those that match, one by one.
		for _, n := range []string{"m2", "m3", "m4", ""} {
			s.Want(t, n, "select iid from mbus4.dyn_consume('q', $1)", "(t.data->'n')::int >= 2")
		}
		s.Want(t, "m1\nm5", "select iid from mbus4.consumen('q', amt => 9)")
		for _, bad := range []struct{ selector, codes string }{
			{"t.nosuch", "42703"},
			{"1", "42804"},
			{"nosuch(t)", "42883"},
			{"'", "42601"},
			{"t.id >", "42601"},
			{"count(*) > 1", "42803"},
			// What the table has beyond a message's columns is none of the selector's.
			{"consumer_id > 0", "42703"},
			{"t.consumer_id > 0", "42703"},
			{"available_at < now()", "42703"},
			{"t.after is null", "42703"},
			{"t.ctid is not null", "42703"},
			{"t.XMIN is not null", "42703"},
			{"t.tableoid > 0", "42703"},
			{"m.mbus4_id > 0 and message.data is null", "42P01"},
		} {
			s.Refused(t, bad.codes, "select * from mbus4.dyn_consume('q', $1)", bad.selector)
		}
	})
}

// What no consumer gets, dyn_consume does not give either: delayed, expired and waiting messages, those
// of other consumers, those that somebody holds.
func TestDynConsumeDelivers(t *testing.T) {
	t.Parallel()
	inBothProtocols(t, []string{"q"}, func(t *testing.T, s *forms.Session) {
		other := harness.Connect(t, harness.Proxied(), s.Database)
		s.Want(t, "late", "select mbus4.post('q', '', delayed_until => '2999-01-01', iid => 'late')")
		s.Want(t, "gone", "select mbus4.post('q', '', expires => '2001-01-01', iid => 'gone')")
		s.Want(t, "waits", "select mbus4.post('q', '', $1, iid => 'waits')", `"consume_after"=>"{late}"`)
		s.Want(t, "second", "select mbus4.post('q', 'n=>2', iid => 'second')")
		s.Want(t, "first", "select mbus4.post('q', 'n=>1', delayed_until => '2001-01-01', iid => 'first')")
		s.Want(t, "", "select mbus4.create_consumer('q', 'c')")
		s.Want(t, "", "select iid from mbus4.dyn_consume('q', 'true', 'c')")
		dyn := "select iid from mbus4.dyn_consume('q', $1)"
		s.Want(t, "", dyn, "t.iid in ('late', 'gone', 'waits')")

		// What matches is held; what is free does not match.
		harness.Want(t, other, "second\nfirst", "begin; select iid from mbus4.consumen('q', amt => 2) order by 1 desc")
		s.Want(t, "", dyn, "true")
		s.Want(t, "third", "select mbus4.post('q', 'n=>3', iid => 'third')")
		s.Want(t, "", dyn, "(t.data->'n')::int < 3")
		s.Want(t, "third", dyn, "(t.data->'n')::int <= 3")
		harness.Ask(t, other, "rollback")
		s.Want(t, "second", dyn, "true")
		s.Want(t, "first", dyn, "true")
		s.Want(t, "", dyn, "true")

		// All first candidates are held by others, and all second ones.
		s.Want(t, "200", "select count(*) from (select mbus4.post('q', hstore('n', n::text), iid => 'x' || n) from generate_series(1, 200) n) x")
		harness.Want(t, other, "50", "begin; select count(*) from mbus4.consumen('q', amt => 50)")
		s.Want(t, "x51", dyn, "t.iid like 'x%'")
		s.Want(t, "x52", dyn, "t.data->'n' <> '0'")
		harness.Want(t, other, "120", "select count(*) from mbus4.consumen('q', amt => 120)")
		s.Want(t, "x173", dyn, "t.iid like 'x%'")
		s.Want(t, "x174", dyn, "t.data->'n' <> '0'")
		s.Want(t, "x200", dyn, "t.iid = 'x200'")
		s.Want(t, "", dyn, "t.iid = 'x50'")
		harness.Ask(t, other, "rollback")
		s.Want(t, "x50", dyn, "t.iid = 'x50'")
		// A rollback gives back.
		s.Want(t, "", "begin")
		s.Want(t, "x1", dyn, "t.iid = 'x1'")
		s.Want(t, "", "rollback")
		s.Want(t, "x1", dyn, "t.iid = 'x1'")
	})
}

// A selector cannot leave the parentheses that it is put into.
func TestDynConsumeIsOneExpression(t *testing.T) {
	t.Parallel()
	inBothProtocols(t, []string{"q", "r"}, func(t *testing.T, s *forms.Session) {
		harness.Ask(t, s.Conn, "create table kept (); select mbus4.post('q', '', delayed_until => '2999-01-01', iid => 'late'); select mbus4.post('r', '', iid => 'other')")
		for _, selector := range []string{
			"true) -- ", "true); drop table kept; --", "false) union select ('''(0,1)''')::tsvector --", "true, true", "true) limit 9 --",
			"true) or (1=1", "1) from mbus4.message --", "true; select 1", "true)) or ((true", "true /*", "true --", "'", "$$", "$x$ true", `"`, "E'\\\\'", "U&'\\",
			// Out of the CASE, to the messages that are not due yet, and to those of other consumers.
			"true) then 0 end) is not null or (case when (true",
			"true) then 0 end) is not null or (case when (true /* \" */",
			"true) then 0 end) is not null or (case when ($$true$$::boolean",
			"false) then 0 end) is not null or (case when (t.id > 0 -- x",
			"true] is null or array[true", "true]) is null or (array[true", "(true]) is null or (array[true)",
			"$x$ ) $x$ = '') then 0 end) is not null or (case when (true", "/* ( */ true) then 0 end) is not null or (case when (true",
			"generate_series(1, 2) = 1", "count(*) > 0", "true order by 1", "true limit 1", "true as x", "true then 0 end) is not null or (case when true", "",
		} {
			for i, call := range []forms.Step{
				forms.Do("select iid from mbus4.dyn_consume('q', $1)", selector),
				forms.Do("select iid from mbus4.dyn_consume('q', $1)", "("+selector), // what is open already is not closed by us
				forms.Do("select iid from mbus4.dyn_consume('q', '" + strings.ReplaceAll(selector, "'", "''") + "')"),
				forms.Do("select (mbus4.dyn_consume('q', selector)).iid from (values ('" + strings.ReplaceAll(selector, "'", "''") + "')) v (selector)"),
			} {
				got, err := s.Form.Run(harness.Context(t), s.Conn, call)
				// A comment ends with the line.
				comment := selector == "true --" && i != 1 || selector == "true) -- " && i == 1
				// A literal may stand where an aggregate of one row is allowed.
				counts := strings.HasPrefix(selector, "count") && err == nil
				if strings.TrimSpace(got) != "" || err == nil && selector != "" && !comment && !counts {
					t.Errorf("%s (%d): got %q, want an error", selector, i, got)
				}
				if err != nil && harness.SQLState(err) == "" {
					t.Fatal(harness.Describe(err))
				}
			}
		}
		// What the caller can read anyway it can ask for; that decides about the messages of q and of no other queue.
		s.Want(t, "", "select iid from mbus4.dyn_consume('q', $1)", "exists (select from mbus4.message m where m.iid = 'other')")
		s.Want(t, "", "select iid from mbus4.dyn_consume('q', $1)", "(select count(*) from mbus4.consumer) > 0")
		s.Want(t, "other", "select iid from mbus4.dyn_consume('r', $1)", "exists (select from mbus4.message m where m.iid = 'late')")
		s.Want(t, "other", "select mbus4.post('r', '', iid => $1)", "other")
		s.Want(t, "late other|0", "select string_agg(iid, ' ' order by iid), (select count(*) from kept) from mbus4.message")
	})
}

// Of eight sessions each gets others, and all together everything.
func TestDynConsumeConcurrently(t *testing.T) {
	t.Parallel()
	const sessions, messages = 8, 240
	database := harness.NewQueueDatabase(t, "q")
	poster := harness.Connect(t, harness.Proxied(), database)
	harness.Ask(t, poster, fmt.Sprintf("select count(*) from (select mbus4.post('q', hstore('n', n::text), iid => 'm' || n) from generate_series(1, %d) n) x", messages))
	var mu sync.Mutex
	got := map[string]int{}
	var all sync.WaitGroup
	ctx := harness.Context(t)
	for i := range sessions {
		conn := harness.Connect(t, harness.Proxied(), database)
		all.Go(func() {
			selector := fmt.Sprintf("(t.data->'n')::int %% 2 = %d", i%2)
			for {
				iids, err := harness.Query(ctx, conn, "select iid from mbus4.dyn_consume('q', $1)", selector)
				if err != nil {
					t.Error(harness.Describe(err))
					return
				}
				if iids == "" {
					return
				}
				mu.Lock()
				got[iids]++
				mu.Unlock()
			}
		})
	}
	all.Wait()
	for iid, times := range got {
		if times != 1 {
			t.Errorf("%s was consumed %d times", iid, times)
		}
	}
	if len(got) != messages {
		t.Errorf("%d of %d messages were consumed", len(got), messages)
	}
}
