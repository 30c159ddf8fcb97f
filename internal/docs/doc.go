// Package docs holds the documents and the comments of the repository to its tree: links lead somewhere, files that are
// named are there, and names of packages, types, functions, methods and tests exist.
//
// Invariant: a document that names what is not there fails a test, and so does a checker that would let it pass.
//
// It refuses to know whether what the documents say is true. It imports nothing of ours, and has tests only.
package docs
