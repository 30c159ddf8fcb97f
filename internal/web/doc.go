// Package web is the page of mbusproxy: it shows what is in a database's queues, finds messages,
// and steers. It is made on the server, complete without a script; with one it brings itself up to
// date.
//
// Invariants:
//   - What is shown and done is asked in the sessions of whoever has logged in (package access), so what one may is what GRANT says. The admin
//     role's connection is out of this package's reach. Numbers of the process itself are for members of the console's role.
//   - A page is shown from one transaction that only reads and has ended before the first byte is sent.
//   - Nothing that comes from a database or a browser is ever taken for markup: all of it goes through html/template, and texts have the type Text.
//   - What changes something is a POST with the log-in's token, from our own origin.
//
// It knows nothing of the wire and of the texts of clients.
package web
