// Command steady measures a load that goes on for half an hour while a snapshot is held all the
// time, which keeps every dead row: messages through a queue of the proxy and, beside it on the
// same server in the same minutes, events through a queue of PgQ, whose tables have no dead rows.
//
// Each has two sessions that post, one message after the other, and one that consumes: a hundred at
// a time with mbus4.consumen, whole batches with PgQ, which is ticked five times a second and told
// to rotate its tables every ten seconds.
package main
