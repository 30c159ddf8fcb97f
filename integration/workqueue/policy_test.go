package workqueue

import (
	"strings"
	"testing"

	"github.com/jackc/pgx/v5/pgconn"

	"mbusproxy/integration/internal/forms"
	"mbusproxy/integration/internal/harness"
)

// How often a message is tried, and when again, says the call.
func TestWorkQueuePolicy(t *testing.T) {
	t.Parallel()
	forms.ForEach(t, nil, func(t *testing.T, s *forms.Session) {
		const (
			handler = "insert into done(n) select 1 / (($1->>'n')::int - 2)" // of the second it fails
			left    = `select payload->>'n', attempts, process_id, last_error, case next_attempt_at when 'infinity' then 'never'
				else round(extract(epoch from next_attempt_at - clock_timestamp()))::text end from mbus4.work_queue`
		)
		due := func() { harness.Ask(t, s.Conn, "update mbus4.work_queue set next_attempt_at = now()") }
		addMessages(t, s.Conn, 3)
		s.Want(t, "", "call mbus4.process_queue(1, $1, $2, $3, $4, $5)", handler, 3, "00:01:00", "00:01:30", "0")
		harness.Want(t, s.Conn, "2|1|∅|division by zero|60", left)
		due()
		addMessages(t, s.Conn, 1)
		s.Want(t, "", "call mbus4.process_queue(1, max_attempts => 3, backoff => interval '30 s' * 2, max_backoff => $2::text::interval, jitter => 0, handler => $1)", handler, "90 s")
		harness.Want(t, s.Conn, "2|2|∅|division by zero|90", left)
		due()
		addMessages(t, s.Conn, 1)
		harness.Ask(t, s.Conn, "update mbus4.work_queue set next_attempt_at = now() - interval '1 h' where attempts = 0")
		awaitNoticed(t, s.Conn)
		s.Want(t, "", "call mbus4.process_queue(1, $1, max_attempts => 3)", handler)
		harness.Want(t, s.Conn, "2|3|∅|division by zero|never", left)
		// It is not tried any more, unless somebody has it tried.
		s.Want(t, "", "call mbus4.process_queue(1, 'select 1')")
		s.Want(t, "", "select * from mbus4.get_next_message(1)")
		harness.Want(t, s.Conn, "2|3|∅|division by zero|never", left)
		due()
		s.Want(t, "", "call mbus4.process_queue(1, 'select 1')")
		harness.Want(t, s.Conn, "0", "select count(*) from mbus4.work_queue")

		// Of the pause a tenth at most is left to chance, unless the call says otherwise.
		for _, c := range []struct{ jitter, least string }{{"", "0.89"}, {", jitter => 0.5", "0.49"}} {
			addMessages(t, s.Conn, 20)
			s.Want(t, "", "call mbus4.process_queue(1, 'select 1 / 0', backoff => '1000 s'"+c.jitter+")")
			harness.Want(t, s.Conn, "20|t|t|t", `select count(*), min(f) > $1::float, max(f) <= 1, max(f) - min(f) > 0.01
				from (select extract(epoch from next_attempt_at - clock_timestamp()) / 1000 as f from mbus4.work_queue) w`, c.least)
			harness.Ask(t, s.Conn, "delete from mbus4.work_queue")
		}

		for args, says := range map[string]string{
			"max_attempts => 0":             "max_attempts must be between 1 and 1000000, and is 0",
			"backoff => '-1 s'":             "backoff must be between 0 and 365 days",
			"max_backoff => '366 days'":     "max_backoff must be between 0 and 365 days",
			"backoff => '2 h'":              "backoff must not be longer than max_backoff, and is 02:00:00 to 01:00:00",
			"jitter => 'NaN'":               "jitter must be between 0 and 1, and is NaN",
			"jitter => 1 + random()::float": "jitter must be between 0 and 1",
		} {
			if said := s.Refused(t, "22023", "call mbus4.process_queue(1, 'select 1', "+args+")"); !strings.Contains(said, says) || !strings.Contains(said, "there is no last attempt") {
				t.Errorf("%s: %s", args, said)
			}
		}
		s.Want(t, "", "call mbus4.process_queue(1, null, $1, $2, $3, $4)", nil, nil, nil, nil)
	})
}

// A handler that is no good does not use up the attempts of all messages at once: it ends with the
// first whose last attempt fails.
func TestWorkQueueLastAttemptStops(t *testing.T) {
	t.Parallel()
	database := harness.NewQueueDatabase(t)
	conn, notices := harness.ConnectNotices(t, database)
	addMessages(t, conn, 5)
	*notices = nil
	harness.Ask(t, conn, "call mbus4.process_queue(1, 'selec 1', max_attempts => 1)")
	harness.Want(t, conn, "1|1|4", `select payload->>'n', attempts, (select count(*) from mbus4.work_queue where attempts = 0) from mbus4.work_queue where next_attempt_at = 'infinity'`)
	if !hasNotice(*notices, "process 1: stopped, for the last attempt at message 1 has failed and none has succeeded: syntax error at or near \"selec\"") {
		t.Errorf("%v", *notices)
	}
	// Where something has succeeded the others go on.
	harness.Ask(t, conn, "call mbus4.process_queue(1, $1, max_attempts => 1)", "select 1 / greatest(3 - ($1->>'n')::int, 0)")
	harness.Want(t, conn, "1 3 4 5", "select string_agg(payload->>'n', ' ' order by id) from mbus4.work_queue where next_attempt_at = 'infinity' and attempts = 1")
}

func hasNotice(notices []*pgconn.Notice, message string) bool {
	for _, n := range notices {
		if n.Message == message {
			return true
		}
	}
	return false
}

// awaitNoticed waits until housekeeping has noticed what was put into the past.
func awaitNoticed(t *testing.T, conn *pgconn.PgConn) {
	t.Helper()
	harness.Await(t, conn, `select not exists (select from mbus4.work_queue where fresh and process_id is null
		and next_attempt_at < (select timestamptz 'epoch' + last_value * interval '1 microsecond' from mbus4.hint_work))`)
}
