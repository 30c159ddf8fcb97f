package app

import (
	"net"
	"testing"
)

func TestPageAddress(t *testing.T) {
	t.Parallel()
	for address, is := range map[string]bool{"127.0.0.1:1": true, "[::1]:1": true, "127.9.9.9:1": true, "0.0.0.0:1": false, "[::]:1": false, "10.0.0.1:1": false, "[::ffff:127.0.0.1]:1": true} {
		a, err := net.ResolveTCPAddr("tcp", address)
		if err != nil {
			t.Fatal(err)
		}
		if isLoopback(a) != is {
			t.Errorf("%s: %v", address, !is)
		}
	}
	if a, b := cookieName(&net.TCPAddr{Port: 1}), cookieName(&net.TCPAddr{Port: 2}); a == b {
		t.Errorf("two proxies have one cookie: %s", a)
	}
}
