// Package names knows what the prepared statements and portals of a session stand for: the [Table]
// holds them by their names, a [Binding] is what one of them stands for from a request on, a [Text]
// what is remembered of the text behind it.
//
// # Invariants
//
//   - The two directions stand at different places of the same stream, and each has its own view of a name (table.go). The direction
//     client to server works with what is in client.go, the other with what is in server.go; the Table's mutex is between them.
//   - A binding is outstanding from when its message is sent until a reply settles it, once.
//   - Where it cannot be known what a name stands for the answer is [ErrUnclear], and never a guess.
//   - A name is kept only as long as it stands for something that matters. How many there are, and how much is remembered of them, has
//     bounds.
//
// # What it refuses to know
//
// Messages, and the order in which requests are outstanding: package pipeline tells it what was
// sent ([Use]) and which replies have come. SQL: what a statement does to names is a
// statements.Effect.
package names
