package schema

import (
	"context"

	"github.com/jackc/pgx/v5"
	"go.uber.org/zap"
)

// What the tests, which open engines and so stand outside the package, use of its inside.

// SelectorRowsVersion is the version from which on selectors are rows.
const SelectorRowsVersion = selectorRowsVersion

// The roles of clients.
const (
	RoleUser  = roleUser
	RoleAdmin = roleAdmin
)

// InstallOld installs the schema as it was up to a version.
func InstallOld(ctx context.Context, conn *pgx.Conn, version int) (Result, error) {
	steps, err := migrations(Options{})
	if err != nil {
		return Result{}, err
	}
	var res Result
	err = upgrade(ctx, conn, steps[:version], &Installation{}, &res, zap.NewNop())
	return res, err
}

// InstallWith installs the schema with a further step.
func InstallWith(ctx context.Context, conn *pgx.Conn, name, text string) (Result, error) {
	steps, err := migrations(Options{})
	if err != nil {
		return Result{}, err
	}
	var res Result
	steps = append(steps, migration{version: len(steps) + 1, name: name, text: text})
	err = upgrade(ctx, conn, steps, &Installation{}, &res, zap.NewNop())
	return res, err
}

// Granted reports whether both roles have their rights.
func Granted(ctx context.Context, conn *pgx.Conn) (bool, error) { return granted(ctx, conn) }

// HstoreError is the refusal where the extension cannot be created because of err.
func HstoreError(err error) error {
	return hstoreError(err, &Installation{role: "r", database: "d"})
}
