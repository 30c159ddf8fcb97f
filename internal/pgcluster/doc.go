// Package pgcluster finds a Postgres installation on this machine and makes, starts and stops
// private clusters with it: the one behind `mbusproxy dev` and the throw-away ones of the tests.
//
// Invariants:
//   - A cluster never outlives its parent by more than the time of a shutdown: Stop ends it, and
//     on Linux the kernel tells the server when the parent died without calling Stop.
//   - A data folder is either whole or recognizably half-made; a half-made one is made anew.
//   - Processes are ended by their process id only.
//   - Postgres refuses to run as root, so a parent that is root runs it as another user.
//   - An error meant for people is an *Error: one sentence, and a hint where there is a way out.
//
// It refuses to know: the proxy, the schema mbus4, and clusters that it did not make itself.
package pgcluster
