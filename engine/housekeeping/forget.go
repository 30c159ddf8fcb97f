package housekeeping

import (
	"context"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
)

const forgetInterval = 10 * time.Minute

// The function is not there where a step waits, and need not be this role's to call, nor the tables its to write.
const mayForgetSQL = `
select coalesce(pg_catalog.bool_and(pg_catalog.has_function_privilege(pg_catalog.to_regprocedure('mbus4.forget_changes()'), 'execute')
	and pg_catalog.has_table_privilege(t.id, 'delete') and pg_catalog.has_table_privilege(t.id, 'select') and pg_catalog.has_table_privilege(t.id, 'update')), false)
from (
	select pg_catalog.to_regclass(x.name)::oid as id
	from pg_catalog.unnest(array['mbus4.audit', 'mbus4.operation', 'mbus4.operation_log']) x (name)
) t`

// forgetChanges removes old rows of the audit and of operations, in batches that each have their
// transaction. See step 14 of the schema for how old.
func forgetChanges(ctx context.Context, conn *pgx.Conn, s *slice) error {
	var may bool
	err := conn.QueryRow(ctx, mayForgetSQL).Scan(&may)
	for err == nil && may {
		var gone int64
		err = conn.QueryRow(ctx, `select mbus4.forget_changes()`).Scan(&gone)
		may = gone > 0 && !s.over()
	}
	if err != nil {
		return fmt.Errorf("forgetting old changes: %w", err)
	}
	return nil
}
