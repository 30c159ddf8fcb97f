package web

import (
	"context"
	"errors"
	"net/http"
	"strings"

	"github.com/jackc/pgx/v5"

	"mbusproxy/trust"
)

// trusted is the first thing that is asked in each transaction of a log-in's: whether the role may read, or run, what is in
// the schema without giving its rights to somebody else. See package trust.
func (p *Page) trusted(ctx context.Context, tx pgx.Tx, reads bool) error {
	answer, err := trust.Scan(tx.QueryRow(ctx, p.question))
	if err != nil {
		return err
	}
	if refused := answer.Check(reads); refused != nil {
		return refused
	}
	return nil
}

// isAbsent reports whether an error says that the database has no schema of ours.
func isAbsent(err error) bool {
	var refused *trust.Error
	return errors.As(err, &refused) && refused.Code == trust.Absent
}

// ofTrust is why a log-in must not go on, as the page shows it.
func ofTrust(e *trust.Error) *problem {
	if e.Code == trust.Absent {
		return notInstalled
	}
	return &problem{http.StatusForbidden, "Not to be trusted", Text(strings.ToUpper(e.Message[:1]) + e.Message[1:] + "."), Text(e.Hint)}
}
