package httplisten

import (
	"bytes"
	"crypto/tls"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"go.uber.org/zap"
)

// One address speaks TLS and plain HTTP, by what the client says first; without a certificate the former is closed.
func TestBothListener(t *testing.T) {
	t.Parallel()
	inner, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	certified := httptest.NewUnstartedServer(nil)
	certified.StartTLS() // for its certificate
	defer certified.Close()
	conf := make(chan *tls.Config, 1)
	conf <- TLS(&tls.Config{Certificates: certified.TLS.Certificates, NextProtos: []string{"postgresql"}, MinVersion: tls.VersionTLS12})
	l := NewBoth(inner, func() *tls.Config {
		c := <-conf
		conf <- c
		return c
	}, 10*time.Second)
	s := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.TLS != nil {
			_, _ = io.WriteString(w, "TLS")
			return
		}
		_, _ = io.WriteString(w, "plain")
	})}
	ended := make(chan error, 1)
	go func() { ended <- s.Serve(l) }()
	at := inner.Addr().String()
	client := certified.Client()
	ask := func(url string) string {
		res, err := client.Get(url)
		if err != nil {
			return "error"
		}
		defer func() { _ = res.Body.Close() }()
		text, err := io.ReadAll(res.Body)
		if err != nil {
			return "error"
		}
		return string(text)
	}
	silent, err := net.Dial("tcp", at) // who says nothing keeps nobody waiting
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = silent.Close() }()
	if got := ask("https://" + at); got != "TLS" {
		t.Errorf("by TLS: %s", got)
	}
	if got := ask("http://" + at); got != "plain" {
		t.Errorf("without: %s", got)
	}
	<-conf
	conf <- nil
	client.CloseIdleConnections()
	if got := ask("https://" + at); got != "error" {
		t.Errorf("without a certificate: %s", got)
	}
	garbage, err := net.Dial("tcp", at)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := garbage.Write([]byte("\x00\x00\n\n\r\n\r\n")); err != nil {
		t.Fatal(err)
	}
	if answer, err := io.ReadAll(garbage); err != nil || !bytes.HasPrefix(answer, []byte("HTTP/1.1 400")) {
		t.Errorf("garbage: %q, %v", answer, err)
	}
	_ = garbage.Close()
	if err := s.Close(); err != nil {
		t.Error(err)
	}
	if err := <-ended; !errors.Is(err, http.ErrServerClosed) {
		t.Errorf("the end: %v", err)
	}
	client.CloseIdleConnections()
}

// full is a listener that is out of descriptors at first.
type full struct {
	net.Listener
	failures atomic.Int32
}

func (l *full) Accept() (net.Conn, error) {
	if l.failures.Add(-1) >= 0 {
		return nil, &net.OpError{Op: "accept", Err: syscall.EMFILE}
	}
	return l.Listener.Accept()
}

// A time without descriptors passes: the server goes on then.
func TestOutOfDescriptors(t *testing.T) {
	t.Parallel()
	inner, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	l := &full{Listener: inner}
	l.failures.Store(3)
	s := &http.Server{Handler: http.NotFoundHandler(), ErrorLog: zap.NewStdLog(zap.NewNop())}
	ended := make(chan error, 1)
	go func() { ended <- s.Serve(NewBoth(l, func() *tls.Config { return nil }, 10*time.Second)) }()
	res, err := http.Get("http://" + inner.Addr().String()) //nolint:noctx // this test's own server
	if err != nil {
		t.Fatal(err)
	}
	_ = res.Body.Close()
	_ = s.Close()
	if err := <-ended; !errors.Is(err, http.ErrServerClosed) {
		t.Errorf("the end: %v", err)
	}
}
