// Package systemd speaks with the service manager that has started the process: it says what the
// service is doing, and takes the sockets that the manager listens on. Both are plain files and
// environment variables (sd_notify(3), sd_listen_fds(3)), so nothing of systemd's is linked; any
// program that sets them will do.
//
// # Invariants
//
//   - Without a manager everything here does nothing.
//   - What the manager gave by the environment is gone from it afterwards, so that no child takes it for its own.
//
// # What it refuses to know
//
// What is served on the sockets. It imports nothing of ours.
package systemd
