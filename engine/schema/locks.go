package schema

import (
	"context"
	"errors"
	"fmt"

	"github.com/jackc/pgx/v5"
)

// Any role that may connect can take any advisory lock. So the engine takes none: it locks
// relations and rows, on which the roles of clients have no right.
//
//   - mbus4.upgrade_lock, an empty table, is locked for the transactions that change the schema.
//   - A row of mbus4.service is locked for a moment by a session that takes the lead in a service. The row then
//     names the session, which keeps the lead for as long as it lives: see baseline/08_sessions.sql.
//   - mbus4.selector is locked while a row is added, by package selectors.

// lockUpgradeSQL lets one transaction at a time change the schema. Readers are not held up.
const lockUpgradeSQL = `lock table mbus4.upgrade_lock in exclusive mode`

// The row is taken only when the session it names is gone, or is this one. While another session is
// taking it, it is locked and skipped; afterwards it names that session, and the condition, which
// the server checks again, does not hold.
const leadSQL = `
with vacant as materialized (
	select s.name
	from mbus4.service s
	where s.name = $1 and (s.owner is null or s.owner >> 32 = pg_catalog.pg_backend_pid() or not mbus4.session_lives(s.owner, s.role, s.started))
	for update skip locked
)
update mbus4.service s
set owner = me.owner, role = me.usesysid, started = me.backend_start
from vacant v
cross join lateral (
	select mbus4.mark_session() as owner, a.usesysid, a.backend_start
	from (select) one
	left join pg_catalog.pg_stat_get_activity(pg_catalog.pg_backend_pid()) a on true
	where v.name = $1
) me
where s.name = v.name and me.owner is not null
returning true`

// Lead tries to take the lead in a service for the session, and reports whether it has it. The session keeps it
// until it ends.
func Lead(ctx context.Context, conn *pgx.Conn, service string) (bool, error) {
	var leads bool
	err := conn.QueryRow(ctx, leadSQL, service).Scan(&leads)
	if errors.Is(err, pgx.ErrNoRows) {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("asking for the lead of service %s: %w", service, err)
	}
	return leads, nil
}
