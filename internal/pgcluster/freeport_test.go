package pgcluster

import (
	"fmt"
	"net"
	"testing"
)

// The port can be listened on, and is none that an outgoing connection gets.
func TestFreePort(t *testing.T) {
	for range 10 {
		port, err := FreePort("127.0.0.1")
		if err != nil {
			t.Fatal(err)
		}
		if port < firstPort || port >= endPort {
			t.Errorf("port %d", port)
		}
		l, err := net.Listen("tcp", fmt.Sprintf("127.0.0.1:%d", port))
		if err != nil {
			t.Fatal(err)
		}
		if err := l.Close(); err != nil {
			t.Error(err)
		}
	}
}
