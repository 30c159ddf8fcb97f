package integration

import (
	"testing"
	"time"
)

// A delayed message comes when it is due, and not before.
func TestDelay(t *testing.T) {
	t.Parallel()
	forEachForm(t, []string{"q"}, func(t *testing.T, s *session) {
		s.want(t, "late", "select mbus4.post('q', 'a=>1', delayed_until => (now() + '3 s')::timestamp, iid => 'late')")
		s.want(t, "early", "select mbus4.post('q', 'a=>1', iid => 'early')")
		s.want(t, "past", "select mbus4.post('q', 'a=>1', delayed_until => $1, iid => 'past')", "2001-01-01")
		s.want(t, "past\nearly", "select iid from mbus4.consumen('q', amt => 9) order by iid desc")
		s.want(t, "t|t", "select mbus4.is_msg_exists('late'), (mbus4.peek('late')).delayed_until is not null")
		await(t, s.conn, 20*time.Second, "select count(*) = 1 from mbus4.consume('q') m where m.delayed_until <= clock_timestamp()::timestamp")
		s.want(t, "", "select iid from mbus4.consume('q')")
	})
}

// An expired message is not delivered, and housekeeping removes it.
func TestExpiry(t *testing.T) {
	t.Parallel()
	forEachForm(t, []string{"q"}, func(t *testing.T, s *session) {
		s.want(t, "gone", "select mbus4.post('q', 'a=>1', expires => $1, iid => 'gone')", "2001-01-01")
		s.want(t, "soon", "select mbus4.post('q', 'a=>1', expires => (now() + '300 ms')::timestamp, iid => 'soon')")
		s.want(t, "stays", "select mbus4.post('q', 'a=>1', expires => (now() + '1 h')::timestamp, iid => 'stays')")
		server := connect(t, direct(), s.database)
		await(t, server, 60*time.Second, "select array_agg(iid) = '{stays}' from mbus4.message")
		s.want(t, "stays", "select iid from mbus4.consumen('q', amt => 9)")
	})
}

// A message that expired is not delivered even before housekeeping comes by.
func TestExpiredIsNotDelivered(t *testing.T) {
	t.Parallel()
	forEachForm(t, []string{"q"}, func(t *testing.T, s *session) {
		s.want(t, "gone", "select mbus4.post('q', 'a=>1', expires => $1, iid => 'gone')", "2001-01-01")
		s.want(t, "", "select iid from mbus4.consumen('q', amt => 9)")
	})
}

// Timestamps are written and read in each session's own time zone.
func TestTimeZones(t *testing.T) {
	t.Parallel()
	zones := []string{"Asia/Tokyo", "UTC", "America/St_Johns"}
	forEachForm(t, []string{"q"}, func(t *testing.T, s *session) {
		for _, poster := range zones {
			s.want(t, poster, "select set_config('timezone', $1, false)", poster)
			s.want(t, "m", "select mbus4.post('q', 'a=>1', delayed_until => (now() + '1 h')::timestamp, expires => (now() + '2 h')::timestamp, iid => 'm')")
			s.want(t, "due", "select mbus4.post('q', 'a=>1', delayed_until => (now() - interval '1 s')::timestamp, expires => (now() + '1 min')::timestamp, iid => 'due')")
			for _, reader := range zones {
				s.want(t, reader, "select set_config('timezone', $1, false)", reader)
				s.want(t, "t|t|t", `select delayed_until - now()::timestamp between '59 min' and '1 h',
					expires - now()::timestamp between '119 min' and '2 h',
					now()::timestamp - added between '-1 s' and '1 min' from mbus4.peek('m')`)
			}
			s.want(t, "due", "select iid from mbus4.consumen('q', amt => 9)")
			s.want(t, "m", "select iid from mbus4.take('m')")
		}
	})
}
