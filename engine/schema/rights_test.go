package schema_test

import (
	"fmt"
	"testing"

	"github.com/jackc/pgx/v5"

	"mbusproxy/engine/internal/enginetest"
	"mbusproxy/engine/refusal"
	"mbusproxy/engine/schema"
)

// What each role may do, and what not. The statements are those the calls are made of.
func TestRights(t *testing.T) {
	t.Parallel()
	name := enginetest.Installed(t)
	super := enginetest.Connect(t, name)
	id := enginetest.One[int](t, super, enginetest.NewConsumer, "q")
	as := map[string]*pgx.Conn{}
	for _, group := range []string{"", schema.RoleUser, schema.RoleAdmin} {
		role := enginetest.NewRole(t, name)
		if group != "" {
			enginetest.Exec(t, super, "grant "+group+" to "+role)
		}
		as[group] = enginetest.ConnectTo(t, enginetest.DSNAs(t, name, role))
	}
	slot := id % schema.HintSlots
	cases := []struct {
		what        string
		sql         string
		user, admin bool
	}{
		{"post", fmt.Sprintf(`insert into mbus4.message (id, consumer_id, available_at, added, iid)
			select nextval('mbus4.post_id'), c.id, clock_timestamp(), now(), random()::text
			from mbus4.consumer c join mbus4.queue q on q.id = c.queue_id where c.id = %d`, id), true, true},
		{"consume", fmt.Sprintf(`with d as (delete from mbus4.message m using (
				select ctid from mbus4.message where consumer_id = %d and available_at >= to_timestamp(
					coalesce(pg_sequence_last_value('mbus4.hint_%d'), 0)) for update skip locked) p
			where m.ctid = p.ctid returning m.*)
			select row(id, added, iid, delayed_until, expires, received, headers, properties, data)::mbus4.qt_model from d`, id, slot), true, true},
		{"read a hint", fmt.Sprintf("select last_value from mbus4.hint_%d", slot), true, true},
		{"move a hint", fmt.Sprintf("select setval('mbus4.hint_%d', 1)", slot), false, false},
		{"count a hint up", fmt.Sprintf("select nextval('mbus4.hint_%d')", slot), false, false},
		{"change a message", "update mbus4.message set data = null", false, false},
		{"create a queue", "insert into mbus4.queue (qname, consumers_cnt) values ('mine', 1)", false, true},
		{"create a consumer", "insert into mbus4.consumer (queue_id, qname, name) select id, qname, 'c' from mbus4.queue where qname = 'mine'", false, true},
		{"change a queue", "update mbus4.queue set consumers_cnt = 2 where qname = 'mine'", false, true},
		{"drop a queue", "delete from mbus4.queue where qname = 'mine'", false, true},
		{"truncate", "truncate mbus4.message", false, false},
		{"change the schema", "create table mbus4.mine ()", false, false},
		{"touch the version", "delete from mbus4.schema_version", false, false},
	}
	for _, c := range cases {
		for group, may := range map[string]bool{"": false, schema.RoleUser: c.user, schema.RoleAdmin: c.admin} {
			_, err := as[group].Exec(enginetest.Context(t), c.sql)
			switch code := refusal.SQLState(err); {
			case may && err != nil:
				t.Errorf("%s as %q: %v", c.what, group, err)
			case !may && code != refusal.LackingRights:
				t.Errorf("%s as %q: got %v, want to be refused", c.what, group, err)
			}
		}
	}
}
