package wire

import (
	"bytes"
	"testing"

	"github.com/jackc/pgx/v5/pgproto3"
)

// FuzzValues: what is read is what was sent, and garbage is refused within bounds.
func FuzzValues(f *testing.F) {
	whole, _ := (&pgproto3.Bind{ParameterFormatCodes: []int16{0, 1}, Parameters: [][]byte{[]byte("x"), nil}}).Encode(nil)
	f.Add(whole[HeaderSize:])
	f.Add([]byte("\x00\x00\x00\x00\xff\xff"))
	f.Fuzz(func(t *testing.T, body []byte) {
		v, ok := ReadValues(body)
		_, _ = ReadValue(body, 2) // of garbage, too
		var m pgproto3.Bind
		if err := m.Decode(body); err != nil {
			return // it also refuses what comes behind the values
		}
		if n := len(m.ParameterFormatCodes); n > 1 && n != len(m.Parameters) {
			if ok {
				t.Fatal("wrong number of formats is accepted")
			}
			return
		}
		if !ok || !v.Known() || v.Len() != len(m.Parameters) {
			t.Fatalf("ok %t, %d values, want %d", ok, v.Len(), len(m.Parameters))
		}
		for i, want := range m.Parameters {
			got, there := v.Get(i + 1)
			if !there || got.Null != (want == nil) || !bytes.Equal(got.Bytes, want) {
				t.Fatalf("value %d: %+v, want %q", i+1, got, want)
			}
			if alone, there := ReadValue(body, i+1); !there || alone.Format != got.Format || alone.Null != got.Null || !bytes.Equal(alone.Bytes, got.Bytes) {
				t.Fatalf("value %d alone: %+v, want %+v", i+1, alone, got)
			}
		}
		for _, n := range []int{-1, 0, v.Len() + 1} {
			if _, there := ReadValue(body, n); there {
				t.Fatalf("there is a value %d", n)
			}
		}
		if _, there := v.Get(v.Len() + 1); there {
			t.Fatal("one too many")
		}
	})
}
