package wire

import (
	"bytes"
	"errors"
	"testing"
)

// runInspector answers PassRun for CopyData, and 0 for all else; it counts what it is asked.
type runInspector struct{ asked []byte }

func (r *runInspector) Wants(typ byte, _ int) int {
	r.asked = append(r.asked, typ)
	if typ == MsgCopyData {
		return PassRun
	}
	return 0
}

// walk gives buf to a framer in pieces of n bytes and returns what comes out.
func walk(t testing.TB, f *Framer, in Inspector, stream []byte, n int) ([]byte, error) {
	t.Helper()
	var got []byte
	out := Splicer{Pool: NewBufferPool()}
	for len(stream) > 0 {
		buf := make([]byte, HeaderSize+n)
		off := f.Prefill(buf)
		read := copy(buf[off:off+n], stream)
		stream = stream[read:]
		buf = buf[:off+read]
		out.Begin(buf)
		for pos := 0; pos < len(buf); {
			frame, at, err := f.Next(buf, pos, &out, in)
			if err != nil {
				return got, err
			}
			if frame != nil {
				t.Fatal("a message was gathered that nobody wanted")
			}
			pos = at
		}
		got = append(got, out.Result()...)
		out.Free()
	}
	return got, nil
}

func rows(n int) (stream []byte) {
	for i := range n {
		stream = AppendFrame(stream, MsgCopyData, bytes.Repeat([]byte{'d'}, i%13))
	}
	return stream
}

// TestPassRun: a run is asked about once a batch where it lies in one, ends with the first message
// of another type, and comes out as it went in however it is cut.
func TestPassRun(t *testing.T) {
	stream := append(rows(50), AppendFrame(nil, MsgCopyDone)...)
	stream = append(append(stream, rows(3)...), AppendFrame(nil, MsgCopyDone)...)
	for n := 1; n <= len(stream); n++ {
		var f Framer
		in := &runInspector{}
		got, err := walk(t, &f, in, stream, n)
		if err != nil || !bytes.Equal(got, stream) || !f.AtBoundary() {
			t.Fatalf("in pieces of %d: %v, %d of %d bytes came out", n, err, len(got), len(stream))
		}
		if n == len(stream) && string(in.asked) != "dcdc" {
			t.Errorf("asked about %q", in.asked)
		}
	}
}

// TestPassRunChecksLengths: a length no message can have is found within a run.
func TestPassRunChecksLengths(t *testing.T) {
	for _, length := range []string{"\x00\x00\x00\x03", "\x40\x00\x00\x01", "\xff\xff\xff\xff"} {
		var f Framer
		stream := append(rows(3), "d"+length+"dddd"...)
		if _, err := walk(t, &f, &runInspector{}, stream, len(stream)); !errors.Is(err, ErrFraming) {
			t.Errorf("length %q: %v", length, err)
		}
	}
}

func BenchmarkRows(b *testing.B) {
	var f Framer
	in := &runInspector{asked: make([]byte, 0, 16)}
	stream := rows(5000)
	out := Splicer{Pool: NewBufferPool()}
	b.SetBytes(int64(len(stream)))
	for b.Loop() {
		in.asked = in.asked[:0]
		out.Begin(stream)
		if _, _, err := f.Next(stream, 0, &out, in); err != nil {
			b.Fatal(err)
		}
		out.Free()
	}
}
