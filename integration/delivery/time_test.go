package delivery

import (
	"testing"

	"mbusproxy/integration/internal/forms"
	"mbusproxy/integration/internal/harness"
)

// A delayed message comes when it is due, and not before.
func TestDelay(t *testing.T) {
	t.Parallel()
	forms.ForEach(t, []string{"q"}, func(t *testing.T, s *forms.Session) {
		s.Want(t, "late", "select mbus4.post('q', 'a=>1', delayed_until => (now() + '3 s')::timestamp, iid => 'late')")
		s.Want(t, "early", "select mbus4.post('q', 'a=>1', iid => 'early')")
		s.Want(t, "past", "select mbus4.post('q', 'a=>1', delayed_until => $1, iid => 'past')", "2001-01-01")
		s.Want(t, "past\nearly", "select iid from mbus4.consumen('q', amt => 9) order by iid desc")
		s.Want(t, "t|t", "select mbus4.is_msg_exists('late'), (mbus4.peek('late')).delayed_until is not null")
		harness.Await(t, s.Conn, "select count(*) = 1 from mbus4.consume('q') m where m.delayed_until <= clock_timestamp()::timestamp")
		s.Want(t, "", "select iid from mbus4.consume('q')")
	})
}

// An expired message is not delivered, and housekeeping removes it.
func TestExpiry(t *testing.T) {
	t.Parallel()
	forms.ForEach(t, []string{"q"}, func(t *testing.T, s *forms.Session) {
		s.Want(t, "gone", "select mbus4.post('q', 'a=>1', expires => $1, iid => 'gone')", "2001-01-01")
		s.Want(t, "soon", "select mbus4.post('q', 'a=>1', expires => (now() + '300 ms')::timestamp, iid => 'soon')")
		s.Want(t, "stays", "select mbus4.post('q', 'a=>1', expires => (now() + '1 h')::timestamp, iid => 'stays')")
		server := harness.Connect(t, harness.Direct(), s.Database)
		harness.Await(t, server, "select array_agg(iid) = '{stays}' from mbus4.message")
		s.Want(t, "stays", "select iid from mbus4.consumen('q', amt => 9)")
	})
}

// A message that expired is not delivered even before housekeeping comes by.
func TestExpiredIsNotDelivered(t *testing.T) {
	t.Parallel()
	forms.ForEach(t, []string{"q"}, func(t *testing.T, s *forms.Session) {
		s.Want(t, "gone", "select mbus4.post('q', 'a=>1', expires => $1, iid => 'gone')", "2001-01-01")
		s.Want(t, "", "select iid from mbus4.consumen('q', amt => 9)")
	})
}

// Timestamps are written and read in each session's own time zone.
func TestTimeZones(t *testing.T) {
	t.Parallel()
	zones := []string{"Asia/Tokyo", "UTC", "America/St_Johns"}
	forms.ForEach(t, []string{"q"}, func(t *testing.T, s *forms.Session) {
		for _, poster := range zones {
			s.Want(t, poster, "select set_config('timezone', $1, false)", poster)
			s.Want(t, "m", "select mbus4.post('q', 'a=>1', delayed_until => (now() + '1 h')::timestamp, expires => (now() + '2 h')::timestamp, iid => 'm')")
			s.Want(t, "due", "select mbus4.post('q', 'a=>1', delayed_until => (now() - interval '1 s')::timestamp, expires => (now() + '1 min')::timestamp, iid => 'due')")
			for _, reader := range zones {
				s.Want(t, reader, "select set_config('timezone', $1, false)", reader)
				s.Want(t, "t|t|t", `select delayed_until - now()::timestamp between '59 min' and '1 h',
					expires - now()::timestamp between '119 min' and '2 h',
					now()::timestamp - added between '-1 s' and '1 min' from mbus4.peek('m')`)
			}
			s.Want(t, "due", "select iid from mbus4.consumen('q', amt => 9)")
			s.Want(t, "m", "select iid from mbus4.take('m')")
		}
	})
}
