// Package enginetest is what the tests of the engine's rooms stand on: a server for each package, a
// database for each test, and short words for asking it.
//
// It knows the schema and the rooms below it; tests inside those stand outside their package. It
// does not know package engine, which package served opens.
package enginetest
