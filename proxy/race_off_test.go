//go:build !race

package proxy

const raceFactor = 1
