package web

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/jackc/pgx/v5"
)

// audit is what a row of mbus4.audit says of a change. Who made it, when and from where the server notes itself.
type audit struct {
	action          string // the name of the function that was called, or of what was done
	queue, consumer string // "": none
	detail          map[string]string
}

// note leaves the row, in the transaction of the change: without the row there is no change. A
// schema that an older proxy has made, before step 14, has no such table.
func (a audit) note(ctx context.Context, tx pgx.Tx) error {
	var there bool
	if err := tx.QueryRow(ctx, `select pg_catalog.to_regprocedure('mbus4.audit_change(text,text,text,text,bigint,jsonb)') is not null`).Scan(&there); err != nil {
		return fmt.Errorf("noting the change: %w", err)
	}
	if !there {
		return nil
	}
	detail, err := json.Marshal(a.detail)
	if err != nil {
		return fmt.Errorf("noting the change: %w", err)
	}
	if _, err := tx.Exec(ctx, `select mbus4.audit_change($1, nullif($2, ''), nullif($3, ''), null, null, nullif($4::jsonb, 'null'))`, a.action, a.queue, a.consumer, string(detail)); err != nil {
		return fmt.Errorf("noting the change: %w", err)
	}
	return nil
}
