package proxy

import (
	"errors"
	"math"
)

// errFraming is the error of a length no message can have.
var errFraming = errors.New("message length out of range")

// framer finds messages in a stream that comes in batches. A batch is walked with next; a message
// goes on unseen unless its inspector wants (the head of) it in one piece.
type framer struct {
	// left counts the bytes of the current message that still pass unseen; with dropping they go
	// nowhere.
	left     int
	dropping bool
	// carry is an unfinished header from the end of the last batch.
	carry  [headerSize]byte
	ncarry int
	// held gathers a wanted message that did not lie in one batch, until it has need bytes; size
	// is that of the whole message. nil when none is gathered.
	held []byte
	need int
	size int
	// watch sees what passes of the current message; nil nearly always.
	watch watcher
}

// inspector decides which messages a framer gathers.
type inspector interface {
	// wants is called once for each message, when nothing more comes of the one before, and returns how
	// many of its size bytes are to be gathered; 0: none, and drop: none, and the message is taken out.
	wants(typ byte, size int) int
}

// Answers of inspector.wants.
const (
	drop = -1
	// pause stops next before the message with errFull; nothing of it is taken.
	pause = -2
)

// errFull is returned by next where the inspector takes no more messages for now.
var errFull = errors.New("too much is owed by the server")

// watcher sees the bytes of a message that passes.
type watcher interface{ saw(b []byte) }

// atBoundary reports that no message is under way: something else may be written here.
func (f *framer) atBoundary() bool { return f.left == 0 && f.ncarry == 0 && f.held == nil }

// prefill puts the unfinished header back to the front of buf and returns its size. The next
// bytes are to be read behind it, and the whole goes to the next walk.
func (f *framer) prefill(buf []byte) int {
	n := copy(buf, f.carry[:f.ncarry])
	f.ncarry = 0
	return n
}

// restore takes the unfinished header back from the front of a buffer into which nothing was read.
func (f *framer) restore(head []byte) { f.ncarry = copy(f.carry[:], head) }

// holds reports whether a message is being gathered, or was and has not been passed to keep or replace.
func (f *framer) holds() bool { return f.held != nil }

// gathering is how many bytes of a message have been gathered, and how many are wanted; 0: none is gathered.
func (f *framer) gathering() (n, need int) {
	if f.held == nil {
		return 0, 0
	}
	return len(f.held), f.need
}

// passAll lets all that comes from now on pass unseen: framing is lost.
func (f *framer) passAll() { f.left = math.MaxInt }

// setAside takes a message, or the head of one, that next returned with position pos, and all behind it out of the
// batch: out keeps what comes before. It returns a copy, to be walked again.
func (f *framer) setAside(buf, frame []byte, pos int, out *assembly) (aside []byte) {
	if f.held != nil {
		out.truncate(0)
		aside = append(f.held, buf[pos:]...)
		f.held = nil
	} else {
		out.truncate(pos - len(frame))
		aside = append([]byte(nil), buf[pos-len(frame):]...)
	}
	f.left = 0
	return aside
}

// next walks on from pos and returns the new position, and a wanted message once it is complete.
// The message lies in buf or in memory of the framer; the caller must pass it to keep or replace
// before the next call.
func (f *framer) next(buf []byte, pos int, out *assembly, in inspector) (frame []byte, at int, err error) {
	if f.held != nil {
		frame, at = f.gather(buf, pos, out)
		return frame, at, nil
	}
	for {
		if f.left > 0 {
			k := min(f.left, len(buf)-pos)
			if f.dropping {
				out.replace(pos, pos+k, nil)
			}
			if f.watch != nil {
				f.watch.saw(buf[pos : pos+k])
			}
			f.left -= k
			pos += k
		}
		rest := len(buf) - pos
		if rest == 0 {
			return nil, pos, nil
		}
		if rest < headerSize {
			f.ncarry = copy(f.carry[:], buf[pos:])
			out.truncate(pos)
			return nil, len(buf), nil
		}
		size, ok := frameLen(buf[pos:])
		if !ok {
			return nil, pos, errFraming
		}
		need := in.wants(buf[pos], size)
		if need == pause {
			return nil, pos, errFull
		}
		if f.dropping = need == drop; need <= 0 {
			f.left = size
			continue
		}
		if need <= rest {
			f.left = size - need
			return buf[pos : pos+need], pos + need, nil
		}
		f.size, f.need = size, need
		f.held = append(make([]byte, 0, min(need, 2*len(buf))), buf[pos:]...)
		out.truncate(pos)
		return nil, len(buf), nil
	}
}

// gather goes on gathering in held.
func (f *framer) gather(buf []byte, pos int, out *assembly) (frame []byte, at int) {
	k := min(f.need-len(f.held), len(buf)-pos)
	f.held = append(f.held, buf[pos:pos+k]...)
	pos += k
	if len(f.held) < f.need {
		out.replace(0, pos, nil)
		return nil, pos
	}
	return f.held, pos
}

// whole gathers all of a message of which next returned the head with position pos. It returns
// what next would have returned.
func (f *framer) whole(buf, head []byte, pos int, out *assembly) (frame []byte, at int) {
	size, _ := frameLen(head)
	if f.held != nil {
		f.need = size
		return f.gather(buf, pos, out)
	}
	start := pos - len(head)
	f.left = 0
	if size <= len(buf)-start {
		return buf[start : start+size], start + size
	}
	f.size, f.need = size, size
	f.held = append(make([]byte, 0, min(size, 2*len(buf))), buf[start:]...)
	out.truncate(start)
	return nil, len(buf)
}

// cut ends the gathering of a message at the end of the batch buf, before anything is read of the next. What
// there is of the message is returned as next would return a head of that size with position len(buf).
func (f *framer) cut(buf []byte, out *assembly) (head []byte) {
	if start := out.stop; start < len(buf) { // the gathering began in this batch
		out.truncate(len(buf))
		f.left = f.size - (len(buf) - start)
		f.held = nil
		return buf[start:]
	}
	f.need = len(f.held)
	out.from = 0 // gather has taken all of the batch out
	return f.held
}

// keep forwards a message that next returned with position pos.
func (f *framer) keep(out *assembly, frame []byte, pos int) {
	if f.held == nil {
		return
	}
	out.replace(0, pos, frame)
	f.release()
}

// replace forwards repl instead of a message that next returned with position pos.
func (f *framer) replace(out *assembly, frame []byte, pos int, repl []byte) {
	if f.held == nil {
		out.replace(pos-len(frame), pos, repl)
		return
	}
	out.replace(0, pos, repl)
	f.release()
}

// release ends the gathering; the rest of a message of which only the head was wanted passes.
func (f *framer) release() {
	f.left = f.size - f.need
	f.held = nil
}
