package pgcluster

import (
	"bufio"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// TestMain lets the test binary play the parent that is killed.
func TestMain(m *testing.M) {
	if dir := os.Getenv("MBUS_TEST_PARENT"); dir != "" {
		c, err := Start(context.Background(), Config{Dir: dir, throwAway: true})
		if err != nil {
			fmt.Println("error", err)
			os.Exit(1)
		}
		fmt.Println(c.PID(), c.Port())
		select {}
	}
	os.Exit(m.Run())
}

func TestServerEndsWithItsKilledParent(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(dataParent(t), "data")
	parent := exec.Command(os.Args[0])
	parent.Env = append(os.Environ(), "MBUS_TEST_PARENT="+dir)
	out, err := parent.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := parent.Start(); err != nil {
		t.Fatal(err)
	}
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil || strings.HasPrefix(line, "error") {
		t.Fatalf("the parent said %q, %v", line, err)
	}
	var pid, port int
	if _, err := fmt.Sscan(line, &pid, &port); err != nil {
		t.Fatal(err)
	}
	if err := parent.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = parent.Wait()
	// A new server on the same folder has to wait for the old one to leave it.
	c := start(t, Config{Dir: dir})
	if alive(pid) && c.folder.isServer(pid) {
		t.Errorf("the killed parent's server %d is still there", pid)
	}
}
