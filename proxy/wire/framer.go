package wire

import (
	"errors"
	"math"
)

// ErrFraming is the error of a length no message can have.
var ErrFraming = errors.New("message length out of range")

// Framer finds messages in a stream that comes in batches. A batch is walked with Next; a message
// goes on unseen unless its inspector wants (the head of) it in one piece.
type Framer struct {
	// left counts the bytes of the current message that still pass unseen; with dropping they go
	// nowhere.
	left     int
	dropping bool
	// carry is an unfinished header from the end of the last batch.
	carry  [HeaderSize]byte
	ncarry int
	// held gathers a wanted message that did not lie in one batch, until it has need bytes; size
	// is that of the whole message. nil when none is gathered.
	held []byte
	need int
	size int
	// Watch sees what passes of the current message; nil nearly always.
	Watch Watcher
	// Tally counts the messages. One that is set aside counts when it is walked again.
	Tally Tally
}

// Inspector decides which messages a framer gathers.
type Inspector interface {
	// Wants is called once for each message, when nothing more comes of the one before, and returns how
	// many of its size bytes are to be gathered; 0: none, and Drop: none, and the message is taken out.
	Wants(typ byte, size int) int
}

// Answers of Inspector.Wants.
const (
	Drop = -1
	// PassRun is 0 for this message and for all of its type that follow it without another between,
	// in this batch: Wants is not asked about those that lie whole in it.
	PassRun = -3
	// Pause stops Next before the message with ErrFull; nothing of it is taken.
	Pause = -2
)

// ErrFull is returned by Next where the inspector takes no more messages for now.
var ErrFull = errors.New("too much is outstanding at the server")

// Watcher sees the bytes of a message that passes.
type Watcher interface{ Saw(b []byte) }

// AtBoundary reports that no message is under way: something else may be written here.
func (f *Framer) AtBoundary() bool { return f.left == 0 && f.ncarry == 0 && f.held == nil }

// Prefill puts the unfinished header back to the front of buf and returns its size. The next
// bytes are to be read behind it, and the whole goes to the next walk.
func (f *Framer) Prefill(buf []byte) int {
	n := copy(buf, f.carry[:f.ncarry])
	f.ncarry = 0
	return n
}

// Restore takes the unfinished header back from the front of a buffer into which nothing was read.
func (f *Framer) Restore(head []byte) { f.ncarry = copy(f.carry[:], head) }

// Holds reports whether a message is being gathered, or was and has not been passed to keep or replace.
func (f *Framer) Holds() bool { return f.held != nil }

// Buffered is how many bytes of a message have been gathered, and how many are wanted; 0: none is gathered.
func (f *Framer) Buffered() (n, need int) {
	if f.held == nil {
		return 0, 0
	}
	return len(f.held), f.need
}

// PassAll lets all that comes from now on pass unseen: framing is lost.
func (f *Framer) PassAll() { f.left = math.MaxInt }

// SetAside takes a message, or the head of one, that next returned with position pos, and all behind it out of the
// batch: out keeps what comes before. It returns a copy, to be walked again.
func (f *Framer) SetAside(buf, frame []byte, pos int, out *Splicer) (aside []byte) {
	f.Tally.add(frame[0], -1)
	if f.held != nil {
		out.Truncate(0)
		aside = append(f.held, buf[pos:]...)
		f.held = nil
	} else {
		out.Truncate(pos - len(frame))
		aside = append([]byte(nil), buf[pos-len(frame):]...)
	}
	f.left = 0
	return aside
}

// Next walks on from pos and returns the new position, and a wanted message once it is complete.
// The message lies in buf or in memory of the framer; the caller must pass it to keep or replace
// before the next call.
func (f *Framer) Next(buf []byte, pos int, out *Splicer, in Inspector) (frame []byte, at int, err error) {
	if f.held != nil {
		frame, at = f.gather(buf, pos, out)
		return frame, at, nil
	}
	for {
		if f.left > 0 {
			k := min(f.left, len(buf)-pos)
			if f.dropping {
				out.Replace(pos, pos+k, nil)
			}
			if f.Watch != nil {
				f.Watch.Saw(buf[pos : pos+k])
			}
			f.left -= k
			pos += k
		}
		rest := len(buf) - pos
		if rest == 0 {
			return nil, pos, nil
		}
		if rest < HeaderSize {
			f.ncarry = copy(f.carry[:], buf[pos:])
			out.Truncate(pos)
			return nil, len(buf), nil
		}
		size, ok := FrameLen(buf[pos:])
		if !ok {
			return nil, pos, ErrFraming
		}
		need := in.Wants(buf[pos], size)
		if need == Pause {
			return nil, pos, ErrFull
		}
		if need == PassRun {
			if end, n := skipRun(buf, pos); end > pos {
				f.Tally.add(buf[pos], n)
				pos = end
				continue
			}
		}
		f.Tally.add(buf[pos], 1)
		if f.dropping = need == Drop; need <= 0 {
			f.left = size
			continue
		}
		if need <= rest {
			f.left = size - need
			return buf[pos : pos+need], pos + need, nil
		}
		f.size, f.need = size, need
		f.held = append(make([]byte, 0, min(need, 2*len(buf))), buf[pos:]...)
		out.Truncate(pos)
		return nil, len(buf), nil
	}
}

// skipRun returns the position behind the n whole messages of buf that begin at pos and have the type of the first.
func skipRun(buf []byte, pos int) (end, n int) {
	typ := buf[pos]
	for ; len(buf)-pos >= HeaderSize && buf[pos] == typ; n++ {
		size, ok := FrameLen(buf[pos : pos+HeaderSize])
		if !ok || size > len(buf)-pos {
			break
		}
		pos += size
	}
	return pos, n
}

// gather goes on gathering in held.
func (f *Framer) gather(buf []byte, pos int, out *Splicer) (frame []byte, at int) {
	k := min(f.need-len(f.held), len(buf)-pos)
	if n := len(f.held) + k; n > cap(f.held) {
		f.held = append(make([]byte, 0, min(f.need, 2*n)), f.held...) // append would copy a long message many times over
	}
	f.held = append(f.held, buf[pos:pos+k]...)
	pos += k
	if len(f.held) < f.need {
		out.Replace(0, pos, nil)
		return nil, pos
	}
	return f.held, pos
}

// Whole gathers all of a message of which next returned the head with position pos. It returns
// what next would have returned.
func (f *Framer) Whole(buf, head []byte, pos int, out *Splicer) (frame []byte, at int) {
	size, _ := FrameLen(head)
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
	out.Truncate(start)
	return nil, len(buf)
}

// Cut ends the gathering of a message at the end of the batch buf, before anything is read of the next. What
// there is of the message is returned as next would return a head of that size with position len(buf).
func (f *Framer) Cut(buf []byte, out *Splicer) (head []byte) {
	if start := out.stop; start < len(buf) { // the gathering began in this batch
		out.Truncate(len(buf))
		f.left = f.size - (len(buf) - start)
		f.held = nil
		return buf[start:]
	}
	f.need = len(f.held)
	out.from = 0 // gather has taken all of the batch out
	return f.held
}

// Keep forwards a message that next returned with position pos.
func (f *Framer) Keep(out *Splicer, frame []byte, pos int) {
	if f.held == nil {
		return
	}
	out.Replace(0, pos, frame)
	f.release()
}

// Replace forwards repl instead of a message that next returned with position pos.
func (f *Framer) Replace(out *Splicer, frame []byte, pos int, repl []byte) {
	if f.held == nil {
		out.Replace(pos-len(frame), pos, repl)
		return
	}
	out.Replace(0, pos, repl)
	f.release()
}

// release ends the gathering; the rest of a message of which only the head was wanted passes.
func (f *Framer) release() {
	f.left = f.size - f.need
	f.held = nil
}
