// Package semaphore has the task semaphores of a database: Semaphores and Subscription for programs
// that would rather not write SQL, and Granter, the service that gives the slots to the tasks that
// wait and asks running ones to leave.
//
// The files of the service, from the outside in: granter.go runs it, allocator.go takes one turn,
// changes.go reads what has changed, fronts.go reads what one turn needs, order.go decides (it
// knows no database), orders.go carries out.
//
// Invariants:
//   - Never more than active tasks hold a slot after a grant, and those that got one go before all that still wait.
//   - Each grant and each request to leave has one event, in the same transaction.
//   - One Granter per database works at a time. What it remembers says where to look only: a row is locked and its status
//     checked when it is changed.
//   - It never waits for a lock.
//
// The package does not know the other services, nor when a database is in use: it is told.
package semaphore
