//go:build race

package proxy

// raceFactor is how much more memory the race detector takes.
const raceFactor = 8
