// Package doctor looks at a server and says what keeps mbusproxy from working well with it, and how
// to mend that. It changes nothing: its session is read-only.
package doctor
