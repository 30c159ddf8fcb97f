package selector

// Error is the refusal of a text.
type Error struct {
	Code    string // SQLSTATE
	Message string // names the first thing that is not allowed
	Hint    string
	Offset  int // of that thing in the text, in bytes
}

func (e *Error) Error() string { return e.Message }
