// Package app wires proxy, rewrite and engine together from one Config. It holds no logic of its
// own beyond the adapters between their types, the order in which they start and end, and the
// words for what can go wrong at the start.
package app
