package web

import (
	"bytes"
	"crypto/sha256"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"time"

	"mbusproxy/internal/quota"
	"mbusproxy/internal/web/access"
)

// live is a stream of server-sent events: what is new on a page, as its template "live" makes it,
// whenever it has changed. at is the page's address. The stream does not keep the log-in alive, and
// ends with it.
func (p *Page) live(w http.ResponseWriter, r *http.Request) {
	l := p.who(r, false)
	u, err := url.Parse(r.FormValue("at"))
	if l == nil || err != nil {
		http.Error(w, "no log-in", http.StatusForbidden)
		return
	}
	v := p.views[u.Path]
	if v == nil || v.every == 0 {
		http.NotFound(w, r)
		return
	}
	if !l.OpenStream() {
		http.Error(w, "your log-in has too many streams", http.StatusTooManyRequests)
		return
	}
	defer l.CloseStream()
	given := make(chan struct{}) // closed when the place is another's
	place, err := p.streams.Take(l.User, func() { close(given) })
	switch {
	case errors.Is(err, quota.ErrOwn):
		http.Error(w, "your role has too many streams", http.StatusTooManyRequests)
		return
	case err != nil:
		http.Error(w, "there are too many streams", http.StatusServiceUnavailable)
		return
	}
	defer place.Leave()
	w.Header().Set("Content-Type", "text/event-stream; charset=utf-8")
	w.Header().Set("X-Accel-Buffering", "no")
	s := &stream{w: w, out: http.NewResponseController(w)}
	if s.send("hello", "") != nil {
		return
	}
	p.feed(r, l, v, u, s, given)
}

// stream is one of events.
type stream struct {
	w    http.ResponseWriter
	out  *http.ResponseController
	last [sha256.Size]byte // of what was sent last
}

const streamPatience = 20 * time.Second // with a browser that does not read

// send sends an event.
func (s *stream) send(event, data string) error {
	if err := s.out.SetWriteDeadline(time.Now().Add(streamPatience)); err != nil {
		return err
	}
	var b strings.Builder
	fmt.Fprintf(&b, "event: %s\n", event)
	for line := range strings.Lines(data + "\n") {
		b.WriteString("data: " + strings.TrimRight(line, "\r\n") + "\n")
	}
	b.WriteString("\n")
	if _, err := s.w.Write([]byte(b.String())); err != nil {
		return err
	}
	return s.out.Flush()
}

// feed sends what is new until somebody ends it, or given is closed.
func (p *Page) feed(r *http.Request, l *access.Login, v *view, u *url.URL, s *stream, given <-chan struct{}) {
	tick := time.NewTicker(v.every)
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
		case <-r.Context().Done():
			return
		case <-p.ctx.Done():
			return
		case <-given:
			return // the browser sees that the connection has ended, and asks again later
		case <-l.Ended():
			_ = s.send("ended", "")
			return
		}
		out, may, err := p.ask(r.Context(), l, v, u)
		if errors.Is(err, access.ErrEnded) {
			_ = s.send("ended", "")
			return
		}
		if r.Context().Err() != nil {
			return
		}
		if err != nil {
			if s.send("failed", string(p.explain(err).Title)) != nil {
				return
			}
			continue
		}
		f := p.frame(l, v, string(out.title), u.RequestURI())
		f.Body, f.May = out.body, may
		var b bytes.Buffer
		if err := p.sheets[v.sheet].ExecuteTemplate(&b, "live", f); err != nil {
			_ = s.send("failed", "This page has failed")
			return
		}
		sum := sha256.Sum256(b.Bytes())
		event, data := "news", b.String()
		if sum == s.last {
			event, data = "same", "" // so that a browser that is gone is noticed, and the page knows that it is up to date
		}
		s.last = sum
		if s.send(event, data) != nil {
			return
		}
	}
}
