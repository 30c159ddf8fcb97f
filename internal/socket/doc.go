// Package socket asks the kernel about connections what the standard library has no words for.
//
// # What it refuses to know
//
// What is said over a connection.
package socket
