package pattern

// Refusal says why a pattern is not allowed.
type Refusal struct {
	Code    string // SQLSTATE
	Message string
	Hint    string // "": a shorter one may be allowed
}

// SQLSTATEs of refusals.
const (
	codeInvalidRegexp = "2201B"
	codeInvalidEscape = "22025"
	codeProgramLimit  = "54000"
	codeTooComplex    = "54001"
)
