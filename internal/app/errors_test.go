package app

import (
	"errors"
	"net"
	"strings"
	"testing"

	"mbusproxy/internal/told"
)

func TestListenErrorNamesTheWayOut(t *testing.T) {
	t.Parallel()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = l.Close() }()
	_, err = net.Listen("tcp", l.Addr().String())
	var e *told.Error
	if !errors.As(listenError(err), &e) || !strings.Contains(e.Message, "cannot listen") || !strings.Contains(e.Hint, "another program has this port") {
		t.Errorf("got %#v", listenError(err))
	}
}

func TestHTTPAddressTaken(t *testing.T) {
	t.Parallel()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = l.Close() }()
	_, err = listenHTTP(l.Addr().String())
	var e *told.Error
	if !errors.As(err, &e) || !strings.Contains(e.Message, "cannot listen for HTTP") || !strings.Contains(e.Hint, "--http") {
		t.Errorf("got %#v", err)
	}
}

func TestCheckUpstreamTriesAllHosts(t *testing.T) {
	t.Parallel()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	_, open, _ := net.SplitHostPort(l.Addr().String())
	defer func() { _ = l.Close() }()
	gone, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	_, closed, _ := net.SplitHostPort(gone.Addr().String())
	if err := gone.Close(); err != nil {
		t.Fatal(err)
	}
	if err := checkUpstream(t.Context(), "host=127.0.0.1,127.0.0.1 port="+closed+","+open); err != nil {
		t.Error(err)
	}
	err = checkUpstream(t.Context(), "host=127.0.0.1 port="+closed)
	var e *told.Error
	if !errors.As(err, &e) || strings.Count(e.Message, "connection refused") != 1 {
		t.Errorf("got %v", err)
	}
}
