package housekeeping

import (
	"context"

	"github.com/jackc/pgx/v5"
)

// Sweep is one sweep, for the tests that open engines and so stand outside the package.
func Sweep(ctx context.Context, conn *pgx.Conn) (int64, error) { return newSweeper().Sweep(ctx, conn) }

// Sweep lets each part have as long a turn as it takes, and gives the number of messages that are gone.
func (s *sweeper) Sweep(ctx context.Context, conn *pgx.Conn) (messages int64, err error) {
	for i, p := range s.parts() {
		swept, err := p.sweep(ctx, conn, &slice{})
		if err != nil {
			return messages, err
		}
		if i < 2 {
			messages += swept
		}
	}
	return messages, nil
}
