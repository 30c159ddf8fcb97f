package told

import (
	"errors"
	"fmt"
	"testing"

	"github.com/jackc/pgx/v5/pgconn"

	"mbusproxy/engine"
)

func TestToldIsOneSentence(t *testing.T) {
	t.Parallel()
	err := fmt.Errorf("outer: %w", &engine.Error{
		Code: "42501", Message: "cannot create schema mbus4", Hint: "grant it",
		Err: &pgconn.PgError{Severity: "ERROR", Code: "42501", Message: "permission denied"},
	})
	var e *Error
	if !errors.As(Of(err), &e) || e.Message != "cannot create schema mbus4: permission denied" || e.Hint != "grant it" {
		t.Errorf("got %#v", Of(err))
	}
	other := errors.New("other")
	if !errors.Is(Of(other), other) {
		t.Error("an error that is not the engine's was changed")
	}
}
