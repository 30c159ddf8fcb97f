package listen

import (
	"net"
	"os"
	"path/filepath"
	"testing"
)

func TestStaleSocketIsReplaced(t *testing.T) {
	dir := t.TempDir()
	l, err := net.ListenUnix("unix", &net.UnixAddr{Name: filepath.Join(dir, ".s.PGSQL.7"), Net: "unix"})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := Unix(dir, 7, false); err == nil {
		t.Fatal("socket of another server was taken")
	}
	l.SetUnlinkOnClose(false)
	_ = l.Close()
	ours, err := Unix(dir, 7, false)
	if err != nil {
		t.Fatal(err)
	}
	_ = ours.Close()
	if err := os.WriteFile(filepath.Join(dir, ".s.PGSQL.8"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := Unix(dir, 8, false); err == nil {
		t.Error("a file that is no socket was replaced")
	}
}
