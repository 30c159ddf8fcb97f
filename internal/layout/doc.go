// Package layout lays SQL out for people to read: for the command explain and the golden files of
// internal/rewriter. It knows words and parentheses, not the grammar.
package layout
