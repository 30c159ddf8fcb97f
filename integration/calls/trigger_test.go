package calls

import (
	"fmt"
	"strings"
	"testing"

	"mbusproxy/integration/internal/forms"
	"mbusproxy/integration/internal/harness"
)

// everywhere is what lies in each queue, in the order of posting.
const everywhere = `select coalesce(string_agg(q || ':' || n, ' ' order by q), '') from (
	select c.qname q, string_agg(m.data->'n', '' order by m.id) n
	from mbus4.message m join mbus4.consumer c on c.id = m.consumer_id group by 1) x`

// What is posted to a queue is copied along its triggers: those whose selectors hold, one after
// another, and twice where two ways lead.
func TestTriggerWays(t *testing.T) {
	t.Parallel()
	cases := []struct{ name, triggers, left string }{ // posted to a: 1, 2, 3
		{"one", "a-b", "a:123 b:123"},
		{"two", "a-b a-c", "a:123 b:123 c:123"},
		{"selector", "a-b-(t.data->'n')::int>1", "a:123 b:23"},
		{"selector null", "a-b-t.properties->'x'='y'", "a:123"},
		{"chain", "a-b b-c c-d", "a:123 b:123 c:123 d:123"},
		{"chain in any order", "c-d b-c a-b", "a:123 b:123 c:123 d:123"},
		{"chain of selectors", "a-b-(t.data->'n')::int>1 b-c-(t.data->'n')::int<3", "a:123 b:23 c:2"},
		{"chain stops", "a-b-(t.data->'n')::int>2 b-c-true", "a:123 b:3 c:3"},
		{"diamond", "a-b a-c b-d c-d", "a:123 b:123 c:123 d:112233"},
		{"diamond with a selector", "a-b a-c-t.iid='m2' b-d c-d", "a:123 b:123 c:2 d:1223"},
		{"elsewhere", "b-c", "a:123"},
		{"over a gap", "a-nowhere nowhere-d", "a:123 d:123"},
		{"to dmq", "a-dmq", "a:123 dmq:123"},
		{"the same for each", "a-b-t.iid='m2' a-c-t.iid='m2'", "a:123 b:2 c:2"},
	}
	inBothProtocols(t, []string{"a", "b", "c", "d"}, func(t *testing.T, s *forms.Session) {
		for _, c := range cases {
			s.Want(t, "", "begin")
			for _, one := range splitTriggers(c.triggers) {
				s.Want(t, "", "select mbus4.create_trigger($1, $2, $3)", one...)
			}
			for n := 1; n <= 2; n++ {
				s.Want(t, fmt.Sprint("m", n), "select mbus4.post('a', hstore('n', $1), iid => $2)", n, fmt.Sprint("m", n))
			}
			s.Want(t, "t", "select mbus4.post_a('n=>3') like 'a.%'")
			if got := harness.Ask(t, s.Conn, everywhere); got != c.left {
				t.Errorf("%s (%s): %q, want %q", c.name, c.triggers, got, c.left)
			}
			s.Want(t, "", "rollback")
		}
		// Many at once.
		s.Want(t, "\n", "select mbus4.create_trigger('a', x) from unnest(array['b', 'c']) x")
		s.Want(t, "", "create table posted as select mbus4.post(q, hstore('n', n::text)) from unnest(array['a', 'b']) q, generate_series(1, 3) n")
		s.Want(t, "a:123\nb:112233\nc:123", `select c.qname || ':' || string_agg(m.data->'n', '' order by m.data->'n')
			from mbus4.message m join mbus4.consumer c on c.id = m.consumer_id group by c.qname order by 1`)
	})
}

// splitTriggers reads "from-to-selector from-to": no selector holds a blank or a minus but ->.
func splitTriggers(text string) [][]any {
	var all [][]any
	for _, one := range strings.Fields(text) {
		parts := append(strings.Split(one, "-"), "")
		args := []any{parts[0], parts[1], nil}
		if len(one) > len(parts[0])+len(parts[1])+2 {
			args[2] = one[len(parts[0])+len(parts[1])+2:]
		}
		all = append(all, args)
	}
	return all
}

// A trigger by which a message would come back is refused, and changes nothing.
func TestTriggerLoops(t *testing.T) {
	t.Parallel()
	inBothProtocols(t, []string{"a", "b", "c", "d"}, func(t *testing.T, s *forms.Session) {
		for _, c := range splitTriggers("a-b b-c c-d x-a d-y") {
			s.Want(t, "", "select mbus4.create_trigger($1, $2)", c[:2]...)
		}
		for _, c := range splitTriggers("a-a b-a c-a d-a d-b A-A y-x y-a x-x new-new") {
			said := s.Refused(t, "42P17", "select mbus4.create_trigger($1, $2)", c[:2]...)
			if !strings.Contains(said, "Loop detected") {
				t.Errorf("%v: %s", c, said)
			}
		}
		s.Refused(t, "42710", "select mbus4.create_trigger('a', 'b', 'true')")
		s.Want(t, "", "select mbus4.create_trigger('a', 'd')") // a second way is none
		s.Want(t, "t", "select mbus4.post('a', 'n=>1') is not null")
		s.Want(t, "a:1 b:1 c:1 d:11", everywhere)
		s.Want(t, "", "select mbus4.drop_trigger('b', 'c')")
		s.Want(t, "", "select mbus4.create_trigger('c', 'b')") // the loop is broken: not c-d-…, nor b-c
	})
}

// A message goes along a hundred triggers, one behind another, and no further: each takes some of the server's stack.
func TestTriggersOneBehindAnother(t *testing.T) {
	t.Parallel()
	inBothProtocols(t, []string{"a"}, func(t *testing.T, s *forms.Session) {
		harness.Ask(t, s.Conn, "select mbus4.create_queue('q' || n, 1) from generate_series(1, 101) n")
		harness.Ask(t, s.Conn, "select mbus4.create_trigger('q' || n, 'q' || n + 1) from generate_series(1, 100) n")
		s.Want(t, "t", "select mbus4.post('q1', 'n=>1', 'h=>1') is not null")
		s.Want(t, "101", "select count(*) from mbus4.message")
		harness.Ask(t, s.Conn, "select mbus4.create_trigger('a', 'q1')")
		s.Refused(t, "54001", "select mbus4.post('a', 'n=>1')")
		s.Want(t, "101", "select count(*) from mbus4.message")
	})
}

// A queue that is not there is worth a WARNING; the trigger works as soon as it is.
func TestTriggerMissingQueues(t *testing.T) {
	t.Parallel()
	database := harness.NewQueueDatabase(t, "a")
	conn, notices := harness.ConnectNotices(t, database)
	for _, c := range []struct {
		src, dst string
		warned   []string
	}{
		{"a", "late", []string{"late"}},
		{"late", "later", []string{"late", "later"}},
		{"a", "dmq", nil},
	} {
		*notices = nil
		harness.Ask(t, conn, "select mbus4.create_trigger($1, $2)", c.src, c.dst)
		if len(*notices) != len(c.warned) {
			t.Fatalf("%s-%s: %d notices, want %v", c.src, c.dst, len(*notices), c.warned)
		}
		for i, n := range *notices {
			if n.Severity != "WARNING" || n.SeverityUnlocalized != "WARNING" || n.Code != "01000" || n.Message != fmt.Sprintf("queue %q does not exist", c.warned[i]) {
				t.Errorf("%s-%s: %s %s %s", c.src, c.dst, n.Severity, n.Code, n.Message)
			}
		}
	}
	post := "select left(mbus4.post('a', hstore('n', $1)), 2)"
	harness.Want(t, conn, "a.", post, 1)
	harness.Want(t, conn, "a:1 dmq:1", everywhere)
	harness.Ask(t, conn, "select mbus4.create_queue('later', 1)")
	harness.Want(t, conn, "a.", post, 2)
	harness.Want(t, conn, "a:12 dmq:12 later:2", everywhere)
	harness.Ask(t, conn, "select mbus4.create_queue('late', 1)")
	harness.Want(t, conn, "a.", post, 3)
	harness.Want(t, conn, "a:123 dmq:123 late:3 later:23", everywhere)
	// Where the source came later than the trigger, it still goes with its queue.
	harness.Ask(t, conn, "select mbus4.drop_queue('late')")
	harness.Want(t, conn, "a:dmq", "select string_agg(qname || ':' || target, ' ') from mbus4.consumer where target is not null")
}

// A copy is a message of its own that has what the poster gave: headers, properties, delay, expiry and
// what it waits for.
func TestTriggerCopies(t *testing.T) {
	t.Parallel()
	inBothProtocols(t, []string{"a", "b"}, func(t *testing.T, s *forms.Session) {
		s.Want(t, "", "select mbus4.create_trigger('a', 'b')")
		s.Want(t, "", "select mbus4.create_consumer('b', 'second')")
		shown := `select iid = 'm', data, properties, headers->'destination', headers->'source_db', headers->'own',
			headers->'destination_queue', headers->'enqueue_time', headers->'seenby' from mbus4.consumen('b', $1, 9)`
		s.Want(t, "m", "select mbus4.post('a', 'n=>1', 'own=>h, enqueue_time=>then, source_db=>far, destination_queue=>first', 'p=>2', iid => 'm')")
		for _, consumer := range []string{"default", "second"} {
			s.Want(t, `f|"n"=>"1"|"p"=>"2"|b|far|h|first|then|{`+s.Database+"}", shown, consumer)
		}
		s.Want(t, "", "select mbus4.consumen('a', amt => 0)")
		s.Want(t, "m", "select iid from mbus4.consume('a')")

		// Nothing given: b is where it lies, and the original was put before it came there.
		s.Want(t, "t", "select mbus4.post_a('n=>2', iid => 'a.1') is not null")
		s.Want(t, "t", "select mbus4.post_a('n=>2') is not null")
		s.Want(t, "t", "select (mbus4.peek('a.1')).headers->'enqueue_time' = headers->'enqueue_time' from mbus4.consume('b')")
		s.Want(t, "1", "select count(*) from mbus4.consume('b', 'second')")
		s.Want(t, "1", "select count(*) from mbus4.consume('a')")
		const own = `select headers->'destination', headers->'source_db', headers->'destination_queue', headers->'seenby',
			(headers->'enqueue_time')::timestamp < added, iid like 'b.%' from mbus4.consume('b')`
		s.Want(t, "b|"+s.Database+"|b|{"+s.Database+"}|t|t", own)
		s.Want(t, "t", "select mbus4.post('a', 'n=>3', $1) is not null", `"seenby"=>"{x,y}"`)
		s.Want(t, "b|"+s.Database+"|b|{x,y,"+s.Database+"}|t|t", own)
		s.Want(t, "2", "select count(*) from mbus4.consumen('b', 'second', 9)")
		s.Want(t, "2", "select count(*) from mbus4.consumen('a', amt => 9)")

		// Times.
		s.Want(t, "late", "select mbus4.post('a', 'n=>4', delayed_until => '2101-02-03 04:05:06', expires => '2102-01-01', iid => 'late')")
		s.Want(t, "gone", "select mbus4.post('a', 'n=>5', expires => '2001-01-01', iid => 'gone')")
		s.Want(t, "", "select iid from mbus4.consumen('b', amt => 9)")
		s.Want(t, "2101-02-03 04:05:06|2102-01-01 00:00:00\n2101-02-03 04:05:06|2102-01-01 00:00:00\n2101-02-03 04:05:06|2102-01-01 00:00:00",
			"select delayed_until::timestamp, expires::timestamp from mbus4.message where data->'n' = '4'")
		s.Want(t, "late", "select iid from mbus4.take('late')") // the copies are others

		// Order: the copy waits for what the message waits for, not for the message.
		s.Want(t, "first", "select mbus4.post('a', 'n=>6', iid => 'first')")
		s.Want(t, "6", "select data->'n' from mbus4.consume('b')")
		s.Want(t, "then", "select mbus4.post('a', 'n=>7', 'consume_after=>{first}', iid => 'then')")
		s.Want(t, "", "select iid from mbus4.consumen('b', amt => 9)")
		s.Want(t, "first", "select iid from mbus4.consume('a')")
		harness.Await(t, s.Conn, "select exists (select from mbus4.consume('b') where data->'n' = '7')")
		s.Want(t, "then", "select iid from mbus4.consume('a')")
	})
}

// What is dropped copies nothing: the trigger, or a queue at either of its ends.
func TestTriggerDrop(t *testing.T) {
	t.Parallel()
	inBothProtocols(t, []string{"a", "b", "c"}, func(t *testing.T, s *forms.Session) {
		count := "select count(*) from mbus4.consumer where target is not null"
		for _, c := range splitTriggers("a-b b-c") {
			s.Want(t, "", "select mbus4.create_trigger($1, $2)", c[:2]...)
		}
		s.Want(t, "", "select mbus4.drop_trigger('b', 'c')")
		s.Want(t, "t", "select mbus4.post('a', 'n=>1') is not null")
		s.Want(t, "a:1 b:1", everywhere)
		s.Want(t, "", "select mbus4.create_trigger('b', 'c')")
		s.Want(t, "", "select mbus4.drop_queue('b')")
		s.Want(t, "0", count)
		s.Want(t, "", "select mbus4.create_queue('b', 1)")
		s.Want(t, "t", "select mbus4.post('a', 'n=>2') is not null")
		s.Want(t, "a:12", everywhere)

		// A rollback takes the trigger and its copies back.
		s.Want(t, "", "begin")
		s.Want(t, "", "select mbus4.create_trigger('a', 'b')")
		s.Want(t, "t", "select mbus4.post('a', 'n=>3') is not null")
		s.Want(t, "a:123 b:3", everywhere)
		s.Want(t, "", "rollback")
		s.Want(t, "t", "select mbus4.post('a', 'n=>4') is not null")
		s.Want(t, "a:124", everywhere)

		// A trigger is no consumer.
		s.Want(t, "", "select mbus4.create_trigger('a', 'b')")
		s.Refused(t, "42704", "select * from mbus4.consume('a', 'TRIGGER b')")
		s.Refused(t, "42704", "select mbus4.drop_consumer('a', 'TRIGGER b')")
	})
}

// A trigger is in force for statements prepared earlier through another proxy, and so is its end.
func TestTriggerAcrossProxies(t *testing.T) {
	t.Parallel()
	second := harness.NewProxy(t)
	database := harness.NewQueueDatabase(t, "a", "b")
	for _, f := range protocols() {
		t.Run(f.Name, func(t *testing.T) {
			one := &forms.Session{Form: f, Conn: harness.Connect(t, harness.Proxied(), database), Database: database}
			two := &forms.Session{Form: f, Conn: harness.Connect(t, second.Endpoint, database), Database: database}
			posts := []string{"select mbus4.post('a', hstore('n', $1), iid => 'm')", "select left(mbus4.post_a(hstore('n', $1)), 0) || 'm'"}
			got := "select coalesce(string_agg(data->'n', ''), '') from mbus4.consumen($1, amt => 9)"
			for round := range 4 {
				maker, other := one, two
				if round%2 == 1 {
					maker, other = two, one
				}
				for _, post := range posts {
					other.Want(t, "m", post, 0)
				}
				other.Want(t, "00", got, "a")
				maker.Want(t, "", "select mbus4.create_trigger('a', 'b', $1)", []any{nil, "(t.data->'n')::int > 0"}[round/2])
				for _, post := range posts {
					other.Want(t, "m", post, round+1)
				}
				for _, queue := range []string{"a", "b"} {
					other.Want(t, strings.Repeat(fmt.Sprint(round+1), 2), got, queue)
				}
				maker.Want(t, "", "select mbus4.drop_trigger('a', 'b')")
				for _, post := range posts {
					other.Want(t, "m", post, 0)
				}
				other.Want(t, "", got, "b")
				other.Want(t, "00", got, "a")
			}
		})
	}
}

// The header Redeploy, a boolean as the server reads it, keeps a message from being copied.
func TestTriggerRedeploy(t *testing.T) {
	t.Parallel()
	inBothProtocols(t, []string{"a", "b", "c", "d"}, func(t *testing.T, s *forms.Session) {
		s.Want(t, "", "select mbus4.create_consumer('a', 'chosen', 'true')")
		const post = "select mbus4.post('a', 'n=>1', hstore('Redeploy', $1), iid => 'm')"
		for _, triggers := range []string{"a-b b-c a-d", "a-b-t.data?'n' b-c-t.iid<>'x' a-d-t.headers?'Redeploy'"} {
			s.Want(t, "", "begin")
			for _, one := range splitTriggers(triggers) {
				s.Want(t, "", "select mbus4.create_trigger($1, $2, $3)", one...)
			}
			for _, value := range []string{"true", "t", "TRUE", " yes ", "on", "1", "tr"} {
				s.Want(t, "", "savepoint s")
				s.Want(t, "m", post, value)
				if got := harness.Ask(t, s.Conn, everywhere); got != "a:11" {
					t.Errorf("Redeploy=>%s: %s", value, got)
				}
				s.Want(t, value, "select headers->'Redeploy' from mbus4.consume('a')")
				s.Want(t, "t\nt", "select mbus4.post(x, 'n=>1', hstore('Redeploy', $1)) is not null from unnest(array['a', 'b']) x", value)
				if got := harness.Ask(t, s.Conn, everywhere); got != "a:111 b:1" {
					t.Errorf("Redeploy=>%s: %s", value, got)
				}
				s.Want(t, "", "rollback to s")
			}
			for _, value := range []any{"false", "f", "no", "off", "0", nil} {
				s.Want(t, "", "savepoint s")
				s.Want(t, "m", post, value)
				if got := harness.Ask(t, s.Conn, everywhere); got != "a:11 b:1 c:1 d:1" {
					t.Errorf("Redeploy=>%v: %s", value, got)
				}
				s.Want(t, "", "rollback to s")
			}
			s.Want(t, "m", "select mbus4.post('a', 'n=>1', 'redeploy=>true', iid => 'm')")
			want := "a:11 b:1 c:1"
			if triggers == "a-b b-c a-d" {
				want += " d:1"
			}
			if got := harness.Ask(t, s.Conn, everywhere); got != want {
				t.Errorf("redeploy: %s, want %s", got, want)
			}
			s.Want(t, "", "rollback")
		}
		// What is no boolean is refused, whether there are triggers or not.
		s.Refused(t, "22P02", post, "maybe")
		s.Refused(t, "22P02", post, "")
	})
}

// The selectors of a copy's queue, and of the triggers from it, see the copy.
func TestTriggerSelectorsSeeTheCopy(t *testing.T) {
	t.Parallel()
	inBothProtocols(t, []string{"a", "b", "c", "d"}, func(t *testing.T, s *forms.Session) {
		s.Want(t, "", "select mbus4.create_trigger('a', 'b')")
		s.Want(t, "", "select mbus4.create_trigger('b', 'c', $1)",
			"t.headers->'destination_queue' = 'b' and t.iid like 'b.%' and t.delayed_until is not null and t.received = '{}' and (t.headers->'enqueue_time')::timestamp < t.added")
		s.Want(t, "", "select mbus4.create_trigger('a', 'd', $1)",
			"t.headers->'destination_queue' = 'a' and (t.iid = 'm' or t.iid like 'a.%') and t.delayed_until is not null and t.received = '{}'")
		s.Want(t, "", "select mbus4.create_consumer('c', 'chosen', $1)", "t.headers->'destination_queue' = 'c' and t.iid like 'c.%'")
		s.Want(t, "", "select mbus4.create_consumer('c', 'simple', $1)", "t.headers->'destination_queue' = 'c'")
		s.Want(t, "", "select mbus4.create_consumer('c', 'not', $1)", "t.headers->'destination_queue' = 'a'")
		for _, post := range []string{"'n=>1'", "'n=>1', 'h=>1'", "'n=>1', null, null, '2001-01-01', '2999-01-01', 'm'"} {
			s.Want(t, "t", "select mbus4.post('a', "+post+") is not null")
			s.Want(t, "a:1 b:1 c:111 d:1", everywhere)
			s.Want(t, "6", "with gone as (delete from mbus4.message returning 1) select count(*) from gone")
		}
	})
}
