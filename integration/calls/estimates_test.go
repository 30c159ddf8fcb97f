package calls

import (
	"strconv"
	"strings"
	"testing"

	"mbusproxy/integration/internal/forms"
	"mbusproxy/integration/internal/harness"
)

// An estimate is exact while there is little, and near when there is much: within a factor of two.
func TestEstimates(t *testing.T) {
	t.Parallel()
	database := harness.NewQueueDatabase(t, "q", "r")
	conn := harness.Connect(t, harness.Proxied(), database)
	posted := 0
	for _, total := range []int{0, 1, 999, 20000} {
		harness.Ask(t, conn, "select count(*) from (select mbus4.post('q', 'a=>1') from generate_series(1, $1::text::int)) x", total-posted)
		posted = total
		got, _ := strconv.Atoi(harness.Ask(t, conn, "select mbus4.estimated_messages('q')"))
		if total < 1000 && got != total || got < total/2 || got > total*2 {
			t.Errorf("%d messages are estimated to be %d", total, got)
		}
		harness.Want(t, conn, "0", "select mbus4.estimated_messages('r')")
	}
	// Others do not disturb: a consumer that came late, another queue, what is consumed.
	harness.Ask(t, conn, "select mbus4.create_consumer('q', 'late'); select mbus4.post('r', '') from generate_series(1, 10)")
	harness.Want(t, conn, "10", "select mbus4.estimated_messages('r')")
	harness.Ask(t, conn, "select count(*) from mbus4.consumen('q', amt => 19500)")
	harness.Want(t, conn, "500", "select mbus4.estimated_messages('q')")
}

// The headers that a caller gives are kept, those that are not are set; a message that went through
// other databases names them all.
func TestHeadersOfCallers(t *testing.T) {
	t.Parallel()
	headers := `select headers->'enqueue_time', headers->'source_db', headers->'destination_queue', headers->'seenby', headers->'destination', headers->'own'
		from mbus4.consumen($1, amt => 9)`
	inBothProtocols(t, []string{"q", "r"}, func(t *testing.T, s *forms.Session) {
		post := "select mbus4.post('q', '', $1, iid => 'm')"
		for _, c := range []struct{ given, got string }{
			{`"enqueue_time"=>"2001-02-03 04:05:06"`, "2001-02-03 04:05:06|<db>|q|{<db>}|q|∅"},
			{`"enqueue_time"=>"then","source_db"=>"far"`, "then|far|q|{<db>}|q|∅"},
			{`"enqueue_time"=>"then","destination_queue"=>"first","own"=>"mine"`, "then|<db>|first|{<db>}|q|mine"},
			{`"enqueue_time"=>"then","seenby"=>"{a,\"b c\"}"`, `then|<db>|q|{a,"b c",<db>}|q|∅`},
			{`"enqueue_time"=>"then","seenby"=>"{}"`, "then|<db>|q|{<db>}|q|∅"},
			{`"enqueue_time"=>"then","destination"=>"mine"`, "then|<db>|q|{<db>}|q|∅"}, // it is where it came from
		} {
			s.Want(t, "m", post, c.given)
			s.Want(t, strings.ReplaceAll(c.got, "<db>", s.Database), headers, "q")
		}
		s.Refused(t, "22P02", post, `"seenby"=>"{a"`)
		s.Refused(t, "22P02", post, `"consume_after"=>"m1,m2"`)
		// Forwarded, a message keeps what it has and names its way.
		s.Want(t, "m", post, `"enqueue_time"=>"then","source_db"=>"far","own"=>"1"`)
		s.Want(t, "n", "select mbus4.post('r', data, headers, iid => 'n') from mbus4.consume('q')")
		s.Want(t, strings.ReplaceAll("then|far|q|{<db>,<db>}|r|1", "<db>", s.Database), headers, "r")
		// peek shows what consume will give.
		s.Want(t, "m", post, `"own"=>"2"`)
		s.Want(t, "2|q|q|t", `select headers->'own', headers->'destination_queue', headers->'destination', headers ? 'enqueue_time' from mbus4.peek('m')`)
	})
}
