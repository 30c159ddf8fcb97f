package schema

import (
	"context"
	"errors"
	"fmt"

	"github.com/jackc/pgx/v5"

	"mbusproxy/engine/admin"
	"mbusproxy/engine/refusal"
)

// ErrGone reports that a database is not, or no longer, the one that was opened.
var ErrGone = errors.New("database is gone")

// Dropped reports whether the server says with err that a table or the schema does not exist. To a service, which works
// where both were found, it says that the schema was dropped.
func Dropped(err error) bool {
	code := refusal.SQLState(err)
	return code == "42P01" || code == codeInvalidSchema // undefined_table
}

// Dial opens a session for a service and makes sure that the database is still the one that was prepared. If it is not, or
// would be refused if it were opened now, the error is ErrGone: opening it again says why.
func (in Installation) Dial(ctx context.Context, server *admin.Server) (*pgx.Conn, error) {
	conn, err := server.Connect(ctx, in.database)
	if err != nil {
		if refusal.SQLState(err) == refusal.InvalidCatalog {
			return nil, ErrGone
		}
		return nil, err
	}
	found, err := identify(ctx, conn)
	var refused *refusal.Error
	switch {
	case found.oid != 0 && found.oid != in.oid, // whatever the other one is
		err == nil && (found.version < in.version || found.hstoreSchema != in.hstoreSchema || found.oldest > in.newest):
		err = ErrGone
	case errors.As(err, &refused):
		err = fmt.Errorf("%w: %w", ErrGone, err)
	}
	if err == nil {
		err = admin.Settle(ctx, conn, admin.ServiceLockWait)
	}
	if err != nil {
		admin.Close(ctx, conn)
		return nil, err
	}
	return conn, nil
}
