//go:build !race

package waiting

// raced says that the race detector runs.
const raced = false
