package parse

import (
	"fmt"
	"strings"

	"mbusproxy/rewrite/lex"
)

const (
	// MaxTokens is the greatest number of tokens of a text that is parsed. A token costs up to 1 kB
	// and 5 µs (ADR 12).
	MaxTokens = 128 << 10
	// CallTokens is what a call that is rewritten counts beside its own tokens: the SQL that serves it is several kB.
	CallTokens = 64
	// MaxDepth is the greatest depth (lex.Size) of a text that is parsed. The server itself ends at about as
	// many levels with its default max_stack_depth of 2 MB.
	MaxDepth = 4000
	// MaxRuns bounds what the parser's scanner reads again, in bytes. At each + and -, and at each
	// comment that such characters follow, it takes all characters that operators are made of for
	// one operator first: 1 MiB of /**/ would take it hours, and nothing stops it.
	MaxRuns = 4 << 20
	// ShortTokens is the number of tokens up to which a text is short.
	ShortTokens = 2 << 10
	// MiddleTokens is the number of tokens up to which a text is not long. It may have what is left to short
	// ones: who waits for it does so for tens of milliseconds.
	MiddleTokens = 8 << 10
	// weighedBytes is how many bytes can be weighed in about the time in which a token can be parsed.
	weighedBytes = 512
)

// LimitError says that a text is beyond a bound of the parser.
type LimitError struct {
	Code    string // SQLSTATE
	Message string
	Hint    string
}

func (e *LimitError) Error() string { return e.Message }

// SQLSTATEs of LimitErrors.
const (
	codeTooLong    = "54000" // program_limit_exceeded
	codeTooComplex = "54001" // statement_too_complex
)

func tooLong() *LimitError {
	return &LimitError{
		Code:    codeTooLong,
		Message: fmt.Sprintf("the statement is too long: it has more than %d tokens, of which a call counts as %d", MaxTokens, CallTokens),
		Hint:    "Send the data as bind parameters, in arrays or by COPY, call the function for the rows of a query, or split the statement.",
	}
}

func tooComplex() *LimitError {
	return &LimitError{
		Code:    codeTooComplex,
		Message: "the statement is too complex: its expressions, joins or subqueries are nested too deeply",
		Hint:    fmt.Sprintf("A chain of operators, joins or brackets may have at most %d tokens; split it, or use arrays and lists instead.", MaxDepth),
	}
}

func tooDense() *LimitError {
	return &LimitError{
		Code:    codeTooComplex,
		Message: "the statement is too complex: too many comments and operators follow each other without a blank between them",
		Hint:    "Put a blank or the end of a line between comments.",
	}
}

// runs returns what the scanner reads again: of each run of characters of operators its length for
// each token, or comment, that may begin in it.
func runs(text string) (again int) {
	for pos := 0; pos < len(text); pos++ {
		if !lex.InOperator(text[pos]) {
			continue
		}
		run := text[pos:]
		for i := range run {
			if !lex.InOperator(run[i]) {
				run = run[:i]
				break
			}
		}
		pos += len(run)
		begin, signs := strings.Count(run, "/*"), 0
		for i := 0; i < len(run) && !strings.HasPrefix(run[i:], "--") && !strings.HasPrefix(run[i:], "/*"); i++ {
			if run[i] == '+' || run[i] == '-' {
				signs++
			}
		}
		again += (begin + signs) * len(run)
	}
	return again
}

// SyntaxError says that a text does not parse.
type SyntaxError struct {
	Message string
}

func (e *SyntaxError) Error() string { return e.Message }

// Check measures a text and returns a LimitError if it is beyond the bounds. The text is in UTF-8 or ASCII; escapes
// says that a backslash escapes in its plain strings, which the parser could not read. calls is how many calls
// are to be rewritten; they are counted in tokens.
func Check(text string, escapes bool, calls int) (size lex.Size, err error) {
	if runs(text) > MaxRuns {
		return lex.Size{}, tooDense()
	}
	bounds := lex.Size{Tokens: MaxTokens, Depth: MaxDepth}
	size = lex.Measure(text, escapes, bounds)
	size.Tokens += CallTokens * calls
	switch {
	case size.Tokens > bounds.Tokens:
		return size, tooLong()
	case size.Depth > bounds.Depth:
		return size, tooComplex()
	}
	return size, nil
}
