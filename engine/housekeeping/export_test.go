package housekeeping

import (
	"context"

	"github.com/jackc/pgx/v5"
)

// Sweep is one sweep, for the tests that open engines and so stand outside the package.
func Sweep(ctx context.Context, conn *pgx.Conn) (int64, error) { return newSweeper().Sweep(ctx, conn) }
