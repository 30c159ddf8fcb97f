// Package forms speaks to a database in each form in which the protocol carries statements: simple, extended, prepared
// and pipelined. What a test asks in one form it can ask in all of them, and must be answered the same.
//
// It refuses to know what the statements mean.
package forms
