// Package app starts proxy, rewrite and engine from one Config and ends them. It holds no logic of its
// own beyond the order in which they start and end, what is given to console, page and metrics, and the
// words for what can go wrong at the start.
package app
