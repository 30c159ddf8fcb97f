package endpoint

import (
	"errors"
	"io"
)

// ReadAhead reads what has come of the peer's bytes, without waiting, as long as no more than limit
// of them are kept for ReadBatch. It returns what is new. ended says that nothing comes behind that.
func (l *Endpoint) ReadAhead(limit int) (next []byte, ended bool) {
	kept := len(l.ahead)
	buf := l.Pool.Get()
	defer l.Pool.Put(buf)
	for room := limit - kept; room > 0; room = limit - len(l.ahead) {
		var n int
		if n, ended = l.readNow(buf[:min(len(buf), room)]); n <= 0 {
			break
		}
		l.ahead = append(l.ahead, buf[:n]...)
	}
	return l.ahead[kept:], ended
}

// readNow is one read that does not wait.
func (l *Endpoint) readNow(b []byte) (n int, ended bool) {
	var err error
	if l.TLS != nil {
		l.thru.eager = true
		n, err = l.TLS.Read(b)
		return n, errors.Is(err, io.EOF)
	}
	if l.raw.Control(func(fd uintptr) { n, err = readFD(fd, b) }) != nil {
		return 0, false
	}
	return n, n == 0 && err == nil
}

// readKept is ReadBatch where ReadAhead has read something.
func (l *Endpoint) readKept() []byte {
	l.buf = l.Pool.Get()
	l.off = l.flow.Prefill(l.buf)
	n := copy(l.buf[l.off:], l.ahead)
	if l.ahead = l.ahead[n:]; len(l.ahead) == 0 {
		l.ahead = nil
	}
	return l.buf[:l.off+n]
}
