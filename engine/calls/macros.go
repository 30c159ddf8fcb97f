package calls

import (
	"fmt"
	"strings"
)

// The SQL texts share what several of them say as macros: {name:first;second} stands for the text of
// sql/macro/name.sql with first for $1 and second for $2. Arguments may hold macros themselves, and
// placeholders such as {c}, which have no colon.

// expandMacros panics on a macro that does not exist, which is a broken build.
func expandMacros(text string, macros map[string]string) string {
	var b strings.Builder
	for {
		open := strings.IndexByte(text, '{')
		if open < 0 {
			b.WriteString(text)
			return b.String()
		}
		end := closingBrace(text, open)
		b.WriteString(text[:open])
		name, args, isMacro := strings.Cut(text[open+1:end], ":")
		if isMacro {
			body, ok := macros[name]
			if !ok {
				panic("no SQL macro named " + name)
			}
			b.WriteString(expandMacros(withArguments(body, splitArguments(args)), macros))
		} else {
			b.WriteString(text[open : end+1])
		}
		text = text[end+1:]
	}
}

// closingBrace returns where the brace at open is closed.
func closingBrace(text string, open int) int {
	depth := 0
	for i := open; i < len(text); i++ {
		switch text[i] {
		case '{':
			depth++
		case '}':
			depth--
			if depth == 0 {
				return i
			}
		}
	}
	panic("unclosed brace in SQL: " + text[open:])
}

// splitArguments splits at the semicolons outside braces.
func splitArguments(text string) []string {
	var args []string
	depth, from := 0, 0
	for i := range len(text) {
		switch text[i] {
		case '{':
			depth++
		case '}':
			depth--
		case ';':
			if depth == 0 {
				args = append(args, text[from:i])
				from = i + 1
			}
		}
	}
	return append(args, text[from:])
}

func withArguments(body string, args []string) string {
	var pairs []string
	for i, arg := range args {
		pairs = append(pairs, fmt.Sprintf("$%d", i+1), arg)
	}
	return strings.NewReplacer(pairs...).Replace(body)
}
