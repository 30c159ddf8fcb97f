// Package selector is the language of selectors: it checks a text that a client gives as the condition of a
// consumer or trigger, and makes SQL of it that cannot raise an error and depends on nothing but the message.
//
// It is pure: text in, text out. A text is parsed and checked in Go; no server sees anything of it but the
// Condition that comes out. docs/selectors.md describes the language for its users.
package selector
