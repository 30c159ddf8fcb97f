package wire

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgconn"

	"mbusproxy/internal/wiretest"

	"mbusproxy/integration/internal/frontend"
	"mbusproxy/integration/internal/harness"
)

// Random scripts of protocol messages with calls among them get the same replies, byte by byte, through
// the proxy as from a server that has the functions itself; and they leave the same messages behind. The
// direct side's functions, standIns, are ordinary ones. What they cannot give like the proxy is the text
// of an error of the bus: there only the fact is compared.
//
// MBUS_RANDOM_TIME is how long to go on, MBUS_RANDOM_SEED the seed of the first script; each next one has
// the next seed.
func TestRandomCalls(t *testing.T) {
	t.Parallel()
	limit, seed := wiretest.Settings(t, "MBUS_RANDOM", 8*time.Second)
	sides := randomSides(t)
	first, messages, replies := seed, 0, 0
	for began := time.Now(); time.Since(began) < limit; seed++ {
		script := randomCalls(rand.New(rand.NewPCG(seed, 5)))
		want, got := sides[0].play(t, script, seed), sides[1].play(t, script, seed)
		messages += script.Count()
		replies += len(want)
		if wiretest.Difference(want, got, alike) < 0 {
			continue
		}
		show := func(s wiretest.Script) {
			at := max(0, wiretest.Difference(want, got, alike))
			t.Errorf("MBUS_RANDOM_SEED=%d:\n%s\nThe replies differ from the %dth on; direct:\n%s\nthrough the proxy:\n%s",
				seed, s, at, wiretest.Around(want, at), wiretest.Around(got, at))
		}
		show(script)
		show(wiretest.Shrink(script, 30*time.Second, func(s wiretest.Script) bool {
			w, g := sides[0].play(t, s, seed), sides[1].play(t, s, seed)
			differs := wiretest.Difference(w, g, alike) >= 0
			if differs {
				want, got = w, g
			}
			return differs
		}))
		return
	}
	t.Logf("%d scripts, seeds from %d, with %d messages and %d replies", seed-first, first, messages, replies)
}

// randomSides are a server that has the functions itself, and the proxy.
func randomSides(t *testing.T) (sides [2]randomSide) {
	t.Helper()
	// One is a copy of the other, so that both have the same OIDs.
	original := harness.NewDatabaseFrom(t, harness.QueueTemplate)
	conn := harness.Connect(t, harness.Direct(), original)
	harness.Ask(t, conn, harness.Stored(t, conn, "create table done (iid text, n int); "+standIns))
	harness.Ask(t, conn, "create function hidden() returns void language plpgsql as $$ begin execute 'deall' || 'ocate all'; end $$")
	harness.Ask(t, conn, harness.Stored(t, conn, "select mbus4.at_create_queue('q1', 1, '1'), mbus4.at_create_queue('q2', 1, '1')"))
	harness.Ask(t, conn, harness.Stored(t, conn, "select mbus4.at_create_consumer('q2', 'second', null, false, '1')"))
	harness.Close(conn)
	for i, database := range []string{original, harness.NewDatabaseFrom(t, original)} {
		harness.Admin(t, fmt.Sprintf("alter database %s set lock_timeout = '20s'", database))
		sides[i] = randomSide{harness.Both()[i], database, harness.Connect(t, harness.Direct(), database)}
	}
	return sides
}

// randomSide is one of the two ways, with its own database.
type randomSide struct {
	endpoint harness.Endpoint
	database string
	server   *pgconn.PgConn // direct
}

// play plays a script without messages to begin with. To the replies it adds what there is in the end.
func (s randomSide) play(t *testing.T, script wiretest.Script, seed uint64) [][]byte {
	t.Helper()
	harness.Ask(t, s.server, "delete from mbus4.message; delete from done")
	w := frontend.Connect(t, s.endpoint, s.database)
	replies := wiretest.Play(w.Hijacked.Conn, script, rand.New(rand.NewPCG(seed, 6)))
	_ = w.Hijacked.Conn.Close()
	harness.AwaitBackendGone(t, s.server, w.Hijacked.PID)
	left := harness.Ask(t, s.server, `select c.qname, c.name, m.iid, m.data from mbus4.message m join mbus4.consumer c on c.id = m.consumer_id
		order by 1, 2, 3; select * from done order by 1, 2`)
	last := len(replies) - 1
	replies[last] = append(replies[last], "\n"+left...)
	return withoutVain(replies)
}

// withoutVain leaves out what the server sent of a result that then failed: how far it comes before that
// depends on how it runs the statement.
func withoutVain(replies [][]byte) (out [][]byte) {
	for _, r := range replies {
		if r[0] == 'E' {
			for len(out) > 0 && (out[len(out)-1][0] == 'D' || out[len(out)-1][0] == 'T') {
				out = out[:len(out)-1]
			}
		}
		out = append(out, r)
	}
	return out
}

// alike compares two replies, the direct one first.
func alike(one, other []byte) bool {
	if bytes.Equal(one, other) {
		return true
	}
	if one[0] != 'E' || other[0] != 'E' {
		return false
	}
	return bytes.Contains(one, []byte("mbus4")) || alikeUnnamed(one, other) || alikeButForHint(one, other)
}

// hstoreHint is what the proxy adds to an error about the text of a hstore.
var hstoreHint = regexp.MustCompile("\x00HData, headers and properties are of type hstore: [^\x00]*\x00")

// alikeButForHint compares two errors that differ in hstoreHint, and so in their lengths.
func alikeButForHint(one, other []byte) bool {
	const header = 5 // type and length
	return bytes.Equal(one[header:], hstoreHint.ReplaceAll(other[header:], []byte{0}))
}

// alikeUnnamed compares two errors about an unnamed statement that the proxy has an empty one for:
// in a failed transaction it may ask with a Describe whether there is one, and parse the true one
// before a Bind with too many values.
func alikeUnnamed(one, other []byte) bool {
	missing := []byte("\x00C26000\x00Munnamed prepared statement does not exist\x00")
	failed := []byte("\x00C25P02\x00")
	return bytes.Contains(one, missing) && bytes.Contains(other, missing) ||
		bytes.Contains(one, []byte("\x00C08P01\x00Mbind message supplies")) && bytes.Contains(other, failed)
}

// standIns are functions as the proxy serves them, made of those in the database that serve calls which
// cannot be served inside a statement.
var standIns = strings.ReplaceAll(`
	create function mbus4.post(qname text, data hstore, headers hstore default null, properties hstore default null,
		delayed_until timestamp default null, expires timestamp default null, iid text default null) returns text
		language sql volatile as 'select mbus4.at_post_full($1, $2, $3, $4, $5, $6, $7, ''1'')';
	create function mbus4.post_q1(data hstore, headers hstore default null, properties hstore default null,
		delayed_until timestamp default null, expires timestamp default null, iid text default null) returns text
		language sql volatile as 'select mbus4.at_post_full(''q1'', $1, $2, $3, $4, $5, $6, ''1'')';
	create function mbus4.consume(qname text, cname text default 'default') returns setof MESSAGE
		language sql volatile rows 1 as 'select * from mbus4.at_consume($1, $2, ''1'')';
	create function mbus4.consume_q2_by_second() returns setof MESSAGE
		language sql volatile rows 1 as 'select * from mbus4.at_consume(''q2'', ''second'', ''1'')';
	create function mbus4.consumen(qname text, cname text default 'default', amt int default 1) returns setof MESSAGE
		language sql volatile rows 1 as 'select * from mbus4.at_consumen($1, $2, $3, ''1'')';
	create function mbus4.dyn_consume(qname text, selector text default '(1=1)', cname text default 'default') returns setof MESSAGE
		language sql volatile rows 1 as 'select * from mbus4.at_dyn_consume($1, $2, $3, ''1'')';
	create function mbus4.take(msgid text) returns MESSAGE language sql volatile as 'select mbus4.at_take($1, ''1'')';
	create function mbus4.peek(msgid text) returns MESSAGE language sql volatile as 'select mbus4.at_peek($1, ''1'')';
	create function mbus4.is_msg_exists(msgid text) returns boolean language sql volatile as 'select mbus4.at_is_msg_exists($1, ''1'')';
	create function mbus4.peek_q1(msgid text default null) returns boolean
		language sql volatile as 'select mbus4.at_peek_queue(''q1'', $1, ''1'')';
	create function mbus4.run_on_q1(exec text) returns int language plpgsql volatile as $$
		declare
			m MESSAGE;
			n int = 0;
		begin
			loop
				select * into m from mbus4.at_consume('q1', 'default', '1');
				exit when not found;
				begin
					execute exec using m;
					n = n + 1;
				exception when others then
					perform mbus4.at_post_full('dmq', m.data, null, m.properties, null, null, m.iid, '1');
				end;
			end loop;
			return n;
		end $$`, "MESSAGE", "mbus4.qt_model")
