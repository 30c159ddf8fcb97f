package httplisten

import (
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"
)

// However many connections say nothing, say a part of a request, do not read their answer, or have
// had it, others are answered; who has asked and waits for the answer keeps his place.
func TestPlaces(t *testing.T) {
	t.Parallel()
	inner, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	const most = 8
	at := inner.Addr().String()
	places := NewPlaces(inner, most)
	places.grace = 100 * time.Millisecond
	l := NewBoth(places, func() *tls.Config { return nil }, 10*time.Second)
	begun, goOn := make(chan bool, 1), make(chan bool)
	mux := http.NewServeMux()
	mux.HandleFunc("/slow", func(w http.ResponseWriter, _ *http.Request) {
		begun <- true
		<-goOn
		_, _ = io.WriteString(w, "slow")
	})
	mux.HandleFunc("/large", func(w http.ResponseWriter, _ *http.Request) {
		for range 1000 { // more than sockets hold
			if _, err := w.Write(make([]byte, 64<<10)); err != nil {
				return
			}
		}
	})
	mux.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) {
		if r.ParseForm() == nil {
			_, _ = io.WriteString(w, "quick "+r.PostFormValue("a"))
		}
	})
	s := &http.Server{Handler: KeepPlaces(mux), ConnContext: WithPlace, ReadTimeout: time.Minute}
	ended := make(chan error, 1)
	go func() { ended <- s.Serve(l) }()
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}, Timeout: 20 * time.Second}
	ask := func(path string) string {
		res, err := client.Post("http://"+at+path, "application/x-www-form-urlencoded", strings.NewReader("a=b"))
		if err != nil {
			return err.Error()
		}
		defer func() { _ = res.Body.Close() }()
		text, err := io.ReadAll(res.Body)
		return fmt.Sprint(string(text), err)
	}
	var waits sync.WaitGroup
	waits.Go(func() {
		res, err := client.Get("http://" + at + "/slow")
		if err != nil {
			t.Errorf("a request under way lost its place: %v", err)
			return
		}
		defer func() { _ = res.Body.Close() }()
		if text, err := io.ReadAll(res.Body); string(text) != "slow" || err != nil {
			t.Errorf("%s %v", text, err)
		}
	})
	<-begun
	for _, part := range []string{"GET /large HTTP/1.1\r\nHost: x\r\n\r\n", "", "G", "GET / HTTP/1.1\r\nHost: x\r\nX: ", "POST / HTTP/1.1\r\nHost: x\r\nContent-Type: application/x-www-form-urlencoded\r\nContent-Length: 100\r\n\r\na=", "GET / HTTP/1.1\r\nHost: x\r\n\r\n"} {
		for range 2 * most {
			c, err := net.Dial("tcp", at)
			if err != nil {
				t.Fatal(err)
			}
			defer func() { _ = c.Close() }()
			_, _ = io.WriteString(c, part)
		}
		if got := ask("/"); got != "quick b<nil>" {
			t.Errorf("behind those who say %q: %s", part, got)
		}
	}
	close(goOn)
	waits.Wait()
	_ = s.Close()
	if err := <-ended; !errors.Is(err, http.ErrServerClosed) {
		t.Error(err)
	}
}
