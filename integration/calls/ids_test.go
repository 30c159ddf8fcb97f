package calls

import (
	"testing"

	"mbusproxy/integration/internal/forms"
	"mbusproxy/integration/internal/harness"
)

// All calls work with ids of queues and consumers that no int holds, and go on from what was made before.
func TestIDsBeyondInt(t *testing.T) {
	t.Parallel()
	inBothProtocols(t, []string{"old"}, func(t *testing.T, s *forms.Session) {
		other := harness.Connect(t, harness.Proxied(), s.Database)
		harness.Ask(t, other, "alter sequence mbus4.queue_id_seq restart 3000000000")
		harness.Ask(t, other, "alter sequence mbus4.consumer_id_seq restart 4000000000")
		s.Want(t, "", "select mbus4.create_queue('q', 1)")
		s.Want(t, "", "select mbus4.create_consumer('q', 'c', '(t.data->''n'') = ''2''')")
		s.Want(t, "", "select mbus4.create_trigger('q', 'old')")
		s.Want(t, "3000000000|t", "select q.id, min(c.id) >= 4000000000 from mbus4.queue q join mbus4.consumer c on c.queue_id = q.id where q.qname = 'q' group by q.id")
		s.Want(t, "1\n2\n3", "select mbus4.post('q', hstore('n', n::text), iid => n::text) from generate_series(1, 3) n")
		s.Want(t, "t", "select mbus4.post_q('n=>2') is not null")
		s.Want(t, "4", "select mbus4.post('q', 'n=>4', headers => 'consume_after=>{3}', iid => '4')")
		s.Want(t, "2", "select iid from mbus4.consume('q', 'c')")
		s.Want(t, "2", "select iid from mbus4.dyn_consume('q', '(t.data->''n'') = ''2''')")
		s.Want(t, "1", "select iid from mbus4.consume_q_by_default()")
		s.Want(t, "3", "select iid from mbus4.take('3')")
		s.Want(t, "2", "select data->'n' from mbus4.consume('q') where true")
		harness.Await(t, other, "select exists (select from mbus4.consume('q', 'default') m where m.iid = '4')")
		s.Want(t, "t", "select mbus4.create_temporary_consumer('q') is not null")
		s.Want(t, "", "select mbus4.create_view('q')")
		s.Want(t, "", "insert into q_q values ('n=>5')")
		s.Want(t, "5", "select data->'n' from q_q")
		s.Want(t, "5", "select count(*) from mbus4.consumen('old', amt => 9) where data->'n' <> '5'")
		s.Want(t, "", "select mbus4.drop_consumer('q', 'c')")
		s.Want(t, "", "select mbus4.drop_queue('q')")
	})
}
