package socket

import (
	"net"
	"runtime"
	"testing"
)

func TestHungUp(t *testing.T) {
	t.Parallel()
	if runtime.GOOS != "linux" {
		t.Skip("nothing is known of it here")
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = l.Close() }()
	theirs, err := net.Dial("tcp", l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	ours, err := l.Accept()
	if err != nil {
		t.Fatal(err)
	}
	raw, err := ours.(*net.TCPConn).SyscallConn()
	if err != nil {
		t.Fatal(err)
	}
	if _, err := theirs.Write([]byte("unread")); err != nil {
		t.Fatal(err)
	}
	if ConnHungUp(raw) {
		t.Error("it has said something, and that is all")
	}
	if err := theirs.Close(); err != nil {
		t.Fatal(err)
	}
	for !ConnHungUp(raw) { // the end is on its way, or the test hangs
		runtime.Gosched()
	}
	if err := ours.Close(); err != nil {
		t.Fatal(err)
	}
	if !ConnHungUp(raw) {
		t.Error("a closed connection is not there any more")
	}
}
