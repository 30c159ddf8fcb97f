package housekeeping

import (
	"testing"

	"mbusproxy/engine/internal/enginetest"
)

// What is old goes, in batches; what is younger stays, and so does everything where the schema is
// older or the role may not.
func TestForgetChanges(t *testing.T) {
	t.Parallel()
	name := enginetest.Installed(t)
	conn, other := enginetest.Connect(t, name), enginetest.Connect(t, name)
	enginetest.Exec(t, conn, `
		insert into mbus4.audit (at, role, pid, action) select now() - d * interval '1 day', 'x', 1, 'x' from generate_series(1, 2500) d;
		insert into mbus4.operation (role, role_oid, kind, state, until, at, changed, ended)
		select 'x', 1, 'purge', case d % 2 when 0 then 'done' else 'paused' end, now(), now(), now() - d * interval '1 day', case d % 2 when 0 then now() end from generate_series(1, 100) d;
		insert into mbus4.operation_log (operation, batch, at, messages) select 1, d, now() - d * interval '1 day', '{}' from generate_series(1, 30) d`)
	const left = `select format('%s %s %s', (select count(*) from mbus4.audit), (select count(*) from mbus4.operation), (select count(*) from mbus4.operation_log))`
	role := enginetest.NewRole(t, name)
	enginetest.Exec(t, conn, "grant usage on schema mbus4 to "+role)
	enginetest.Exec(t, other, "set role "+role)
	if err := forgetChanges(enginetest.Context(t), other, &slice{}); err != nil {
		t.Error(err)
	}
	if got := enginetest.One[string](t, conn, left); got != "2500 100 30" {
		t.Errorf("after a role without rights: %s", got)
	}
	for range 2 {
		if err := forgetChanges(enginetest.Context(t), conn, &slice{}); err != nil {
			t.Fatal(err)
		}
		if got := enginetest.One[string](t, conn, left); got != "89 89 6" {
			t.Errorf("left: %s", got)
		}
	}
	enginetest.Exec(t, conn, "drop function mbus4.forget_changes(); drop table mbus4.audit")
	if err := forgetChanges(enginetest.Context(t), conn, &slice{}); err != nil {
		t.Error(err)
	}
}
