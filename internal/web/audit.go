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

// note leaves the row, in the transaction of the change: without the row there is no change.
func (a audit) note(ctx context.Context, tx pgx.Tx) error {
	detail, err := json.Marshal(a.detail)
	if err != nil {
		return fmt.Errorf("noting the change: %w", err)
	}
	if _, err := tx.Exec(ctx, `insert into mbus4.audit (action, queue, consumer, details) values ($1, nullif($2, ''), nullif($3, ''), nullif($4::jsonb, 'null'))`, a.action, a.queue, a.consumer, string(detail)); err != nil {
		return fmt.Errorf("noting the change: %w", err)
	}
	return nil
}
