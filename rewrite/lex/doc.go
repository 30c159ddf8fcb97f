// Package lex reads the text of statements as the server's lexer does (scan.l): where its tokens
// are, what its literals say, how it looks without them (Skeleton), and how many tokens and levels
// it has at most (Measure).
//
// Texts come in any client_encoding. Lexer and Measure get them as the parser may see them
// (Encoding.Parseable): of the same length, in UTF-8 or with letters for what is not ASCII, so that
// no half of a character looks like a quote. They take no memory in proportion to the text.
//
// It knows nothing of what tokens mean. It reads no keywords but the few that Measure names.
package lex
