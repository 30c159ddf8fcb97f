package integration

import (
	"fmt"
	"strings"
	"testing"
	"time"
)

// The saga of a tour: five bookings in their order, a bung that knows them, and behind the bung what
// takes them back. It ends in success, or is rolled back at any of its steps.
func TestSagaRules(t *testing.T) {
	t.Parallel()
	forward := []struct{ queue, after string }{{"room", ""}, {"there", "room"}, {"back", "room"}, {"to", "there"}, {"from", "back"}, {"final", "to from"}}
	undo := []string{"undo_room", "undo_there", "undo_back", "undo_to", "undo_from"}
	queues := append([]string{"bung", "undone"}, undo...)
	for _, f := range forward {
		queues = append(queues, f.queue)
	}
	for failing := range len(forward) {
		t.Run(fmt.Sprint("fails at ", forward[failing].queue), func(t *testing.T) {
			t.Parallel()
			s := newSaga(t, queues)
			s.want(t, "", "begin")
			var done []string
			for _, f := range forward {
				done = append(done, f.queue)
				s.want(t, f.queue, "select mbus4.post($1, 'bung=>bung', $2, iid => $1)", f.queue, waits(f.after))
			}
			s.want(t, "bung", "select mbus4.post('bung', hstore('take', $1), iid => 'bung')", strings.Join(done, " "))
			for _, u := range undo {
				s.want(t, u, "select mbus4.post($1, '', $2, iid => $1)", u, waits("bung"))
			}
			s.want(t, "undone", "select mbus4.post('undone', '', $1, iid => 'undone')", waits(strings.Join(undo, " ")))
			s.want(t, "", "commit")

			for i, f := range forward {
				if i < failing {
					s.receive(t, f.queue)
					continue
				}
				// This one fails, or it is the last: its transaction takes the messages of the other way.
				s.want(t, "", "begin")
				s.receive(t, f.queue)
				taken := "bung " + strings.Join(undo, " ") + " undone"
				if f.queue != "final" {
					taken = ask(t, s.conn, "select data->'take' from mbus4.take('bung')")
				}
				ask(t, s.conn, "select (mbus4.take(i)).iid from regexp_split_to_table($1, ' ') i", taken)
				s.want(t, "", "commit")
				break
			}
			if failing < len(forward)-1 {
				for _, f := range forward {
					s.want(t, "", "select iid from mbus4.consume($1)", f.queue)
				}
				s.want(t, "", "select iid from mbus4.consume('undone')")
				for _, u := range undo {
					s.receive(t, u)
				}
				s.receive(t, "undone")
			}
			s.want(t, "0", "select count(*) from mbus4.message")
		})
	}
}

type saga struct{ *session }

func newSaga(t *testing.T, queues []string) saga {
	t.Helper()
	database := newQueueDatabase(t, queues...)
	return saga{&session{forms()[1], connect(t, proxied, database), database}}
}

// receive gets the message of a queue as soon as it is its turn.
func (s saga) receive(t *testing.T, queue string) {
	t.Helper()
	await(t, s.conn, 20*time.Second, "select count(*) = 1 from mbus4.consume($1)", queue)
}

// waits is the header of a message that waits for others.
func waits(iids string) any {
	if iids == "" {
		return nil
	}
	return `"consume_after"=>"{` + strings.ReplaceAll(iids, " ", ",") + `}"`
}
