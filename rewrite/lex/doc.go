// Package lex reads the text of statements as the server's lexer does (scan.l), and measures it: where its
// tokens are, how many, and how deep a parser can get in it at most.
//
// It takes no memory in proportion to the text. A text is given as the parser may see it: in UTF-8, or ASCII
// with a letter for each byte of what is not, so that no half of a character looks like a quote.
//
// It knows nothing of what tokens mean; it reads no keywords but the few that Measure names.
package lex
