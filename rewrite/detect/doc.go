// Package detect tells, without parsing it, whether a text may hold calls of ours. It asks ever
// dearer questions: is the schema's name in the bytes (Mentions), is it among the tokens (Holds).
//
// It may find a call where there is none, but never overlooks one. It takes no memory in proportion to the text.
//
// It knows nothing of statements: where a call stands, and whether it may stand there, is the
// business of package place.
package detect
