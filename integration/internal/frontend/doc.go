// Package frontend speaks to a database in single messages of the protocol, as Postgres calls the client's side of it.
// It sends what a driver would not send, and shows replies as text.
//
// It refuses to know what is right: a test says which reply it wants.
package frontend
