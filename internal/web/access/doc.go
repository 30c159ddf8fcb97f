// Package access is who may use the web page: it logs people in with a Postgres user and password,
// keeps their log-ins and bounds both.
//
// A log-in is two sessions at the server, opened with the name and the password that were given;
// then the password is forgotten. Everything that the page shows or does runs in them, so it is
// what GRANT says. When one of them breaks, when nobody has asked for anything for a while, and at
// the latest after a day, the log-in ends, and whoever wants to go on gives the password again.
//
// A browser has a cookie with a random number, signed with a key that this process has made for
// itself. What changes anything also takes a token that only pages of the log-in have.
//
// It knows neither HTML nor what is in the queues.
package access
