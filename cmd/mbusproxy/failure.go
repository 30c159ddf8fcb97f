package main

import (
	"errors"
	"fmt"
	"io"
	"strings"

	"mbusproxy/internal/app"
	"mbusproxy/internal/pgcluster"
)

// usageError is a mistake in flags, environment or configuration file.
type usageError struct{ message, hint string }

func (e *usageError) Error() string { return e.message }

// report prints err as one sentence with a hint where there is one, and returns the exit code.
func report(w io.Writer, err error) int {
	message, hint, code := err.Error(), "", exitFailure
	var (
		misuse  *usageError
		cluster *pgcluster.Error
		known   *app.Error
	)
	switch {
	case errors.As(err, &misuse):
		message, hint, code = misuse.message, misuse.hint, exitUsage
	case errors.As(err, &cluster):
		message, hint = cluster.Message, cluster.Hint
	case errors.As(err, &known):
		message, hint = known.Message, known.Hint
	}
	fmt.Fprintf(w, "mbusproxy: %s\n", oneLine(message))
	if hint != "" {
		fmt.Fprintf(w, "hint: %s\n", oneLine(hint))
	}
	return code
}

func oneLine(s string) string { return strings.Join(strings.Fields(s), " ") }
