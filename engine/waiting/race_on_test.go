//go:build race

package waiting

// raced says that the race detector runs, with which all takes many times as long.
const raced = true
