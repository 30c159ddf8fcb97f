// Package harness gives a room of integration what all of them need: the real binary, built once; a cluster and a proxy
// in front of it, for all tests of the room; more proxies for a test; databases, connections, and questions with the
// answer known.
//
// Whatever a test starts ends with the test, also when it fails, and the children of a process that dies die with it.
// Each room picks free ports and temporary folders of its own, so several may run at once. Waiting is for a signal (a
// row, a reply, the end of a process), with a limit that turns a hang into a failure.
//
// The harness refuses to know what is tested. It does not name a function of the catalogue but create_queue.
package harness
