// Package console is the admin console: a database of the proxy's own, in which psql and every
// driver can look at the proxy and steer it. A client logs in to it as it would to a database, and
// the server checks who it is, in the database of --admin. What concerns queues is asked in that
// session of the client's, with its rights; what concerns the proxy is told to members of the
// console's role.
//
// It knows the simple protocol, and of the extended one what drivers send for a statement without parameters.
package console
