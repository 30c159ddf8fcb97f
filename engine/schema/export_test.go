package schema

import (
	"context"
	"fmt"
	"testing"

	"github.com/jackc/pgx/v5"
	"go.uber.org/zap"

	"mbusproxy/rewrite/parse"
)

// What the tests, which open engines and so stand outside the package, use of its inside.

// The roles of clients.
const (
	RoleUser  = roleUser
	RoleAdmin = roleAdmin
)

// WithSteps adds steps after the program's own, and gives the new version.
func WithSteps(how Options, texts ...string) (Options, int, error) {
	steps, err := allSteps()
	for _, text := range texts {
		if err != nil {
			break
		}
		var next step
		last := steps[len(steps)-1]
		next, err = readStep(fmt.Sprintf("%04d_test.sql", last.version+1), text, last)
		steps = append(steps, next)
	}
	how.steps = steps
	return how, steps[len(steps)-1].version, err
}

// AddStep adds a step to the program's own until the test, which must not be parallel, is over, and gives the new version.
func AddStep(t *testing.T, text string) int {
	t.Helper()
	how, newest, err := WithSteps(Options{}, text)
	if err != nil {
		t.Fatal(err)
	}
	own := allSteps
	allSteps = func() ([]step, error) { return how.steps, nil }
	t.Cleanup(func() { allSteps = own })
	return newest
}

// InstallWith installs the schema with a further step.
func InstallWith(ctx context.Context, conn *pgx.Conn, text string) (Result, error) {
	how, _, err := WithSteps(Options{Parser: parse.New()}, text)
	if err != nil {
		return Result{}, err
	}
	_, res, err := Prepare(ctx, conn, how, zap.NewNop())
	return res, err
}

// Granted reports whether both roles have their rights.
func Granted(ctx context.Context, conn *pgx.Conn) (bool, error) { return granted(ctx, conn) }

// HstoreError is the refusal where the extension cannot be created because of err.
func HstoreError(err error) error {
	return hstoreError(err, &Installation{role: "r", database: "d"})
}
