package delivery

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"mbusproxy/integration/internal/harness"
)

// What a post of many rows is estimated to cost stays below what the server compiles, whatever
// other queues have and whatever ANALYZE saw of them: to compile takes longer than to post.
func TestBulkPostsAreNotCompiled(t *testing.T) {
	t.Parallel()
	database := harness.NewQueueDatabase(t, "q")
	admin := harness.Connect(t, harness.Direct(), database)
	conn := harness.Connect(t, harness.Proxied(), database)
	harness.Ask(t, conn, "select mbus4.create_queue('busy', 1)")
	harness.Ask(t, conn, "select mbus4.create_consumer('c' || n, 'busy') from generate_series(1, 2000) n")
	harness.Ask(t, admin, "analyze mbus4.consumer, mbus4.queue, mbus4.message")
	for _, call := range []string{
		"mbus4.post('q', 'a=>1')", "mbus4.post_q('a=>1')", "mbus4.post('q', 'a=>1', 'k=>v')",
		"mbus4.post('q', 'a=>1', iid => 'x' || n)", "mbus4.post('q', 'a=>1', hstore('consume_after', '{y' || n || '}'))",
		"mbus4.post('q', 'a=>1', delayed_until => now()::timestamp + interval '1 hour')",
		"mbus4.post(left('q', n), 'a=>1')", "mbus4.post(left('q', n), 'a=>1', 'k=>v', iid => 'x' || n)",
	} {
		sql := "explain (format json) select " + call + " from generate_series(1, 10000) n"
		var plans []struct {
			Plan struct {
				Cost float64 `json:"Total Cost"`
			}
		}
		if err := json.Unmarshal([]byte(harness.Ask(t, conn, sql)), &plans); err != nil || len(plans) != 1 {
			t.Fatalf("%s: %v", sql, err)
		}
		if cost := plans[0].Plan.Cost; cost <= 0 || cost > 45_000 { // jit_above_cost is 100,000
			t.Errorf("%s: a cost of %v", call, cost)
		}
	}
}

// A post that takes a function keeps the plans of its statements in the session.
func TestPlansOfGivenPostsStay(t *testing.T) {
	t.Parallel()
	database := harness.NewQueueDatabase(t, "q")
	conn, notices := harness.ConnectNotices(t, database)
	harness.Ask(t, conn, "select mbus4.create_queue('s', 1)")
	harness.Ask(t, conn, "select mbus4.create_consumer('c', 's', '(t.data->''a'')::int < 2')")
	harness.Ask(t, conn, "select mbus4.create_trigger('s', 'q')")
	harness.Ask(t, conn, tellPlans)
	for i, call := range []string{
		"mbus4.post('q', 'a=>1', iid => 'q." + database + ".1234567890123456%d')",
		"mbus4.post('q', 'a=>1', 'consume_after=>\"{nothing%d}\"')",
		"mbus4.post('s', 'a=>%d')",
	} {
		for n := range 8 {
			*notices = nil
			harness.Ask(t, conn, "select "+fmt.Sprintf(call, 10*i+n))
		}
		kept := 0
		for _, notice := range *notices {
			// A plan that is made for one call names the consumer, one that stays a parameter.
			if strings.Contains(notice.Message, "Insert on message") && !strings.Contains(notice.Message, "mbus4_call1") {
				kept++
				if strings.Contains(notice.Message, "'{") {
					t.Errorf("%s: the eighth time there is a plan of its own\n%s", call, notice.Message)
				}
			}
		}
		if kept == 0 {
			t.Errorf("%s: no function has posted", call)
		}
	}
}
