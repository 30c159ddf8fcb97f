package wire

import (
	"bytes"
	"strings"
	"testing"
)

// wholeInspector wants every message in one piece.
type wholeInspector struct{}

func (wholeInspector) Wants(_ byte, size int) int { return size }

// A long message is copied about twice while it is gathered: each time to twice the memory.
func TestLongMessagesAreCopiedTwice(t *testing.T) {
	const size, batch = 4 << 20, 64 << 10
	message := AppendFrame(nil, MsgQuery, bytes.Repeat([]byte("x"), size), []byte{0})
	var f Framer
	out := Splicer{Pool: NewBufferPool()}
	copied := 0
	var got []byte
	for rest := message; len(rest) > 0; rest = rest[min(batch, len(rest)):] {
		buf := rest[:min(batch, len(rest))]
		out.Begin(buf)
		before := cap(f.held)
		frame, pos, err := f.Next(buf, 0, &out, wholeInspector{})
		if err != nil {
			t.Fatal(err)
		}
		if cap(f.held) != before {
			copied += len(f.held)
		}
		if frame == nil {
			continue
		}
		f.Keep(&out, frame, pos)
		if got = out.Result(); &got[0] != &frame[0] {
			t.Error("it is copied once more to be sent")
		}
	}
	if !bytes.Equal(got, message) || copied > 2*len(message) {
		t.Errorf("%d bytes came out of %d, %d were copied", len(got), len(message), copied)
	}
}

// What Own returns outlives the Splicer's next batch. It is a copy where the memory goes back to the pool, and else it is not.
func TestOwn(t *testing.T) {
	for _, size := range []int{0, 100, 4 << 20} {
		a := Splicer{Pool: NewBufferPool()}
		in := []byte("0123456789")
		a.Begin(in)
		a.Replace(5, 6, bytes.Repeat([]byte("x"), size))
		result := a.Result()
		own := a.Own(result[3:])
		if size > bufferSize == (&own[0] != &result[3]) {
			t.Errorf("%d bytes: copied: %v", size, &own[0] != &result[3])
		}
		a.Free()
		copy(in, "----------")
		a.Begin(in)
		a.Replace(0, 10, []byte("another batch"))
		if want := "34" + strings.Repeat("x", size) + "6789"; string(own) != want {
			t.Errorf("%d bytes: got %.20q…", size, own)
		}
	}
}
