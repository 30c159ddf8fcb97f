package schema

import (
	"context"

	"github.com/jackc/pgx/v5"
	"go.uber.org/zap"
)

// What the tests, which open engines and so stand outside the package, use of its inside.

// The roles of clients.
const (
	RoleUser  = roleUser
	RoleAdmin = roleAdmin
)

// InstallWith installs the schema with a further step.
func InstallWith(ctx context.Context, conn *pgx.Conn, name, text string) (Result, error) {
	steps, err := allSteps()
	if err != nil {
		return Result{}, err
	}
	var res Result
	steps = append(steps, step{version: steps[len(steps)-1].version + 1, name: name, text: text})
	err = upgrade(ctx, conn, steps, &Installation{}, &res, zap.NewNop())
	return res, err
}

// Granted reports whether both roles have their rights.
func Granted(ctx context.Context, conn *pgx.Conn) (bool, error) { return granted(ctx, conn) }

// HstoreError is the refusal where the extension cannot be created because of err.
func HstoreError(err error) error {
	return hstoreError(err, &Installation{role: "r", database: "d"})
}
