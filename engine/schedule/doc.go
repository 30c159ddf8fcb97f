// Package schedule knows when schedules come due: it reads their cron texts and time zones, and counts their ticks.
//
// Invariants:
//   - What Parse accepts has a next tick.
//   - Of any number of ticks that have passed, finding the last takes bounded time.
//
// It opens no connection and asks no clock: the time is the caller's, who has it from the server.
package schedule
