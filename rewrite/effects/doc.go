// Package effects tells what a text does, once it is executed, to the names of its session: which
// prepared statements and portals it makes and drops.
//
// It reads tokens, and of each statement only the head. It takes no memory in proportion to the
// text, and tells of a bounded number of effects. What the server refuses may be told of, too: that
// a statement has failed, its reply says.
//
// It knows nothing of the functions that are served.
package effects
