// Package parse runs libpg_query, a parser in C that was not made for texts of strangers: it recurses
// without looking at its stack, and takes hundreds of bytes for each token.
//
// So a Parser measures a text first (package lex) and refuses what is beyond its bounds, with a LimitError.
// What it parses it parses on threads of its own, whose stacks are of a known size, and it lets go
// only so much under way at a time. Who waits stands in a line that is fair to roles and databases, and stops to
// wait when its context ends.
//
// The package knows nothing of what the texts are for. docs/adr/0012-parsing.md says why it is as it is.
package parse
