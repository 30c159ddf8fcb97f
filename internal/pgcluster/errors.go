package pgcluster

import "errors"

// Kind is the cause of an Error, where a caller may want to react to it.
type Kind int

// The kinds of Error.
const (
	NotFound         Kind = iota + 1 // no usable Postgres installation
	MissingExtension                 // the installation lacks hstore's files
	OtherVersion                     // the data folder belongs to another major version
	FolderUnusable                   // the data folder cannot be made, reached, read or written
	FolderInUse                      // another server runs on the data folder
	PortTaken                        // somebody else listens on the port asked for
	StartFailed                      // initdb or postgres itself gave up
)

// Error is a failure told in one sentence, fit for showing to a person.
type Error struct {
	Kind    Kind
	Message string // lower case, no full stop, names the folder, port or program
	Hint    string // what to do about it; may be empty
	Err     error  // the cause; may be nil
}

func (e *Error) Error() string { return e.Message }

func (e *Error) Unwrap() error { return e.Err }

// IsKind reports whether err is, or wraps, an *Error of that kind.
func IsKind(err error, kind Kind) bool {
	var e *Error
	return errors.As(err, &e) && e.Kind == kind
}
