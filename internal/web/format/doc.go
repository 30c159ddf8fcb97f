// Package format writes numbers and times as people read them. None of it makes markup, and it
// knows nothing of what is counted.
package format
