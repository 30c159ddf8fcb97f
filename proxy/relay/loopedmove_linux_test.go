package relay

import (
	"net"
	"slices"
	"syscall"
	"testing"
)

// TestLongWritesAreShared: however much a socket would take, a loop writes only a part of a long message at a time.
func TestLongWritesAreShared(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = l.Close() }()
	theirs, err := net.Dial("tcp", l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = theirs.Close() }()
	ours, err := l.Accept()
	if err != nil {
		t.Fatal(err)
	}
	file, err := ours.(*net.TCPConn).File()
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _, _ = file.Close(), ours.Close() }()
	message := make([]byte, 16*mostWritten)
	for i := range message {
		message[i] = byte(i % 251)
	}
	e := loopedEnd{fd: int(file.Fd())}
	if err := syscall.SetNonblock(e.fd, true); err != nil {
		t.Fatal(err)
	}
	if !e.put(message, slices.Clone[[]byte]) {
		t.Fatal("the connection is broken")
	}
	written := len(message) - len(e.unsent)
	if written == 0 || written > 2*mostWritten {
		t.Errorf("%d bytes are written at once, and %d at most", written, mostWritten)
	}
	if !slices.Equal(e.unsent, message[written:]) {
		t.Error("what is left is not the rest of the message")
	}
}
