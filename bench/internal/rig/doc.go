// Package rig is what programs that measure have in common: a private Postgres with the proxy (and
// pgbouncer) before it, what it takes to start them and to end them by their ids, a description of
// the machine, medians with their intervals, and tables.
//
// It refuses to know what is measured.
package rig
