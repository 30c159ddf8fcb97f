package web

import (
	"context"
	"fmt"
	"maps"

	"github.com/jackc/pgx/v5"
)

// audit is what a row of the audit says of a change.
type audit struct {
	action string // the name of the function that was called, or of what was done
	queue  string
	detail map[string]string
}

// Not where the schema is older, and not where the role has nothing to do with it: then it has changed nothing that is there.
const mayNoteSQL = `select exists (
	select from pg_catalog.pg_proc p join pg_catalog.pg_namespace n on n.oid operator(pg_catalog.=) p.pronamespace
	where n.nspname operator(pg_catalog.=) 'mbus4' and p.proname operator(pg_catalog.=) 'audit_change'
	  and pg_catalog.has_schema_privilege(n.oid, 'usage') and pg_catalog.has_function_privilege(p.oid, 'execute'))`

// note leaves the row, in the transaction of the change.
func (a audit) note(ctx context.Context, tx pgx.Tx) error {
	var may bool
	err := tx.QueryRow(ctx, mayNoteSQL).Scan(&may)
	if err == nil && may {
		details := map[string]string{"through": "page"}
		maps.Copy(details, a.detail)
		var queue *string
		if a.queue != "" {
			queue = &a.queue
		}
		_, err = tx.Exec(ctx, `select mbus4.audit_change($1, $2, details => $3)`, a.action, queue, details)
	}
	if err != nil {
		return fmt.Errorf("noting the change in the audit: %w", err)
	}
	return nil
}
