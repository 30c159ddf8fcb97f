// Package programs runs client programs: psql, and Python with its drivers. A program that is not there is a failure
// that says what to install; no test is skipped.
//
// It refuses to know what the programs print.
package programs
