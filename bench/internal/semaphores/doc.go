// Package semaphores measures how soon the task semaphore grants slots: in two semaphores with few
// and with very many tasks that wait, with and without an old snapshot, and in thousands of
// semaphores at once. A [Bench] starts stacks of its own; a [Result] shows itself as a table and as
// targets.
//
// It refuses to know what else is measured.
package semaphores
