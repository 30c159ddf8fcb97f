// Package tree answers questions about a statement that is parsed: which tokens a clause has, what
// lies below a node, what Postgres names a column, which WITH query reads which table.
//
// The parser gives places of nodes but not their ends; a Source has the tokens, in which the ends are found. Places are
// bytes of the client's text.
//
// It knows the grammar of Postgres, and nothing of the functions that are served.
package tree
