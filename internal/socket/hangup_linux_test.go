package socket

import (
	"os"
	"runtime"
	"syscall"
	"testing"
	"time"
)

func TestHungUp(t *testing.T) {
	t.Parallel()
	fds, err := syscall.Socketpair(syscall.AF_UNIX, syscall.SOCK_STREAM, 0)
	if err != nil {
		t.Fatal(err)
	}
	ours, theirs := os.NewFile(uintptr(fds[0]), "ours"), os.NewFile(uintptr(fds[1]), "theirs")
	raw, err := ours.SyscallConn()
	if err != nil {
		t.Fatal(err)
	}
	if _, err := theirs.WriteString("unread"); err != nil {
		t.Fatal(err)
	}
	if ConnHungUp(raw) {
		t.Error("it has said something, and that is all")
	}
	if err := theirs.Close(); err != nil {
		t.Fatal(err)
	}
	for until := time.Now().Add(time.Minute); !ConnHungUp(raw); runtime.Gosched() {
		if time.Now().After(until) {
			t.Fatal("it has hung up, and nobody sees that")
		}
	}
	if err := ours.Close(); err != nil {
		t.Fatal(err)
	}
	if !ConnHungUp(raw) {
		t.Error("a closed connection is not there any more")
	}
}
