package main

import (
	"errors"
	"fmt"
	"io"
	"strings"

	"mbusproxy/internal/cli"
	"mbusproxy/internal/pgcluster"
	"mbusproxy/internal/told"
)

// usageError is a mistake in flags, environment or configuration file.
type usageError struct{ message, hint string }

func (e *usageError) Error() string { return e.message }

// missing is what there is not, which is no failure.
type missing struct{ message, hint string }

func (e *missing) Error() string { return e.message }

// nothingDone is that somebody was asked, and said no.
type nothingDone struct{ message string }

func (e *nothingDone) Error() string { return e.message }

// errInterrupted is the end of a command by a signal, before it had done what was asked.
var errInterrupted = errors.New("interrupted")

// report prints err as one sentence with a hint where there is one, and returns the exit code.
func report(w io.Writer, err error) int {
	message, hint, code := err.Error(), "", exitFailure
	var (
		nothing *missing
		client  *cli.Error
		misuse  *usageError
		cluster *pgcluster.Error
		known   *told.Error
	)
	switch {
	case errors.As(err, &misuse):
		message, hint, code = misuse.message, misuse.hint, exitUsage
	case errors.Is(err, errInterrupted):
		return exitInterrupted
	case errors.As(err, &nothing):
		message, hint, code = nothing.message, nothing.hint, exitNothing
	case errors.As(err, &client):
		message, hint = client.Message, client.Hint
	case errors.As(err, &cluster):
		message, hint = cluster.Message, cluster.Hint
	case errors.As(err, &known):
		message, hint = known.Message, known.Hint
	}
	if message != "" {
		fmt.Fprintf(w, "mbusproxy: %s\n", oneLine(message))
	}
	if hint != "" {
		fmt.Fprintf(w, "hint: %s\n", oneLine(hint))
	}
	return code
}

// oneLine is s in one line, with what a terminal would obey made visible.
func oneLine(s string) string { return cli.Visible(strings.Join(strings.Fields(s), " ")) }
