package housekeeping

import (
	"context"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
)

// trafficInterval is how often the server's counts are noted, from which mbus4.rates tells how much
// was posted and consumed.
const trafficInterval = 10 * time.Second

// The table is not there where a step waits, and need not be this role's to write.
const mayNoteTrafficSQL = `
select coalesce(pg_catalog.has_table_privilege(t.id, 'insert') and pg_catalog.has_table_privilege(t.id, 'select') and pg_catalog.has_table_privilege(t.id, 'delete'), false)
from (select pg_catalog.to_regclass('mbus4.traffic')::oid as id) t`

// Not where another proxy has just done it.
const noteTrafficSQL = `
with gone as (
	delete from mbus4.traffic t where t.at < clock_timestamp() - interval '16 minutes' or t.at > clock_timestamp() + interval '1 minute'
)
insert into mbus4.traffic (at, posted, removed)
select clock_timestamp(), pg_catalog.pg_stat_get_tuples_inserted('mbus4.message'::regclass), pg_catalog.pg_stat_get_tuples_deleted('mbus4.message'::regclass)
where not exists (select from mbus4.traffic t where t.at between clock_timestamp() - interval '9 seconds' and clock_timestamp() + interval '1 minute')
on conflict do nothing`

// noteTraffic notes what the server has counted in the table of messages.
func noteTraffic(ctx context.Context, conn *pgx.Conn) error {
	var may bool
	err := conn.QueryRow(ctx, mayNoteTrafficSQL).Scan(&may)
	if err == nil && may {
		_, err = conn.Exec(ctx, noteTrafficSQL)
	}
	if err != nil {
		return fmt.Errorf("noting the traffic: %w", err)
	}
	return nil
}
