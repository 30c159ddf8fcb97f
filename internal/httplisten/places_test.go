package httplisten

import (
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"runtime"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
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
	places.moment = time.Millisecond // there are few places for the many that come
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
		for range 20 * most {
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

// Who has hung up goes before who says nothing, however short it was there.
func TestPlacesOfHungUp(t *testing.T) {
	t.Parallel()
	inner, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	const most = 8
	p := NewPlaces(inner, most)
	p.moment = time.Hour
	defer func() { _ = p.Close() }()
	var theirs, ours []net.Conn
	come := func() {
		t.Helper()
		c, err := net.Dial("tcp", inner.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = c.Close() })
		one, err := p.Accept()
		if err != nil {
			t.Fatal(err)
		}
		theirs, ours = append(theirs, c), append(ours, one)
	}
	for range most {
		come()
	}
	for _, gone := range []int{most - 1, 2, 5} {
		_ = theirs[gone].Close()
		for until := time.Now().Add(time.Minute); !ours[gone].(*placed).hungUp(); runtime.Gosched() { // which is on its way
			if time.Now().After(until) {
				t.Fatal("it has hung up, and nobody sees that")
			}
		}
		come()
		for i, one := range ours {
			if left := one.(*placed).left; left != (i == gone) {
				t.Errorf("%d had hung up, and %d has left: %v", gone, i, left)
			}
		}
		theirs[gone], ours[gone] = theirs[most], ours[most]
		theirs, ours = theirs[:most], ours[:most]
	}
}

// from is a connection, or rather its end, from an address.
type from struct {
	net.Conn
	address string
	closed  *[]string // what has been closed, in this order
}

func (c from) RemoteAddr() net.Addr {
	return net.TCPAddrFromAddrPort(netip.MustParseAddrPort(c.address))
}

func (c from) Close() error {
	*c.closed = append(*c.closed, c.address)
	return nil
}

// coming is a listener to which come connections from these addresses.
type coming struct {
	net.Listener
	addresses *[]string
	closed    *[]string
}

func (l coming) Accept() (net.Conn, error) {
	next := (*l.addresses)[0]
	*l.addresses = (*l.addresses)[1:]
	return from{address: next, closed: l.closed}, nil
}

// The address that has most connections makes room, by the oldest of them; all of loopback is one.
func TestCrowdMakesRoom(t *testing.T) {
	t.Parallel()
	addresses := []string{"10.0.0.1:1", "127.0.0.1:2", "127.9.9.9:3", "[::1]:4", "10.0.0.2:5", "127.0.0.1:6", "10.0.0.1:7", "10.0.0.2:8"}
	if got := fmt.Sprint(crowded(t, addresses, 0)); got != "[127.0.0.1:2 127.9.9.9:3 [::1]:4 10.0.0.1:1]" {
		t.Errorf("closed were %s", got)
	}
}

// Who has only just come has a moment to ask: while many come, those who come wait for it.
func TestEachHasAMoment(t *testing.T) {
	t.Parallel()
	var addresses []string
	for n := range 40 {
		addresses = append(addresses, fmt.Sprint("127.0.0.1:", n+1))
	}
	synctest.Test(t, func(t *testing.T) {
		began := time.Now()
		if closed := crowded(t, addresses, aMoment); len(closed) != 36 {
			t.Errorf("%d were closed", len(closed))
		}
		if took := time.Since(began); took != 9*aMoment { // four places, which 40 have in turn
			t.Errorf("40 came within %v", took)
		}
	})
}

// crowded has connections come from addresses to four places, where each has a moment, and gives which of them were closed.
func crowded(t *testing.T, addresses []string, moment time.Duration) (closed []string) {
	p := NewPlaces(coming{addresses: &addresses, closed: &closed}, 4)
	p.moment = moment
	for len(addresses) > 0 {
		if _, err := p.Accept(); err != nil {
			t.Fatal(err)
		}
	}
	return closed
}

// The moment of a connection may end before who needs its place has begun to wait for that.
func TestMomentEndsEarly(t *testing.T) {
	t.Parallel()
	inner, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	p := NewPlaces(inner, 1)
	defer func() { _ = p.Close() }()
	p.moment = time.Millisecond
	p.mu.Lock()
	one := &placed{Conn: &net.TCPConn{}, of: p}
	p.taken = 1
	one.rest()
	for room := p.makeRoom(); !room; room = p.makeRoom() {
		time.Sleep(20 * time.Millisecond) // past the moment, with mu, as who is kept from running
		lost := time.AfterFunc(time.Minute, func() { t.Error("nobody was woken"); p.free.Broadcast() })
		p.free.Wait()
		lost.Stop()
	}
	p.mu.Unlock()
}
