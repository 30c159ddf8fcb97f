// Package splice puts texts together from pieces of a client's text and pieces of ours. Edits say
// what comes instead of which bytes of the client's text, and may lie inside one another; an Output
// is what they are written to; a Text is what comes of it.
//
// Each piece of a Text knows the byte of the client's text that it was copied from or stands for, so positions in the
// server's errors can be mapped back. A Text is immutable, and can be made anew for another client's text that differs
// only in its literals.
//
// It knows no SQL, but that two words need a blank between them.
package splice
