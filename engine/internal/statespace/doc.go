// Package statespace explores all states that a small machine can reach, for tests of protocols:
// what is true of every one of them, and from which of them what must come still comes.
//
// # What it refuses to know
//
// What the machine is. It holds all states in memory, so a machine is to have few.
package statespace
