// Package proxytest is what tests of several rooms of the proxy share: Rewriters that leave marks,
// messages, passwords, and waiting.
package proxytest
