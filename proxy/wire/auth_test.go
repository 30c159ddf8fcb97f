package wire

import "testing"

// FuzzSASLInitialResponse: what is read can be written again.
func FuzzSASLInitialResponse(f *testing.F) {
	f.Add(AppendInitialResponse(nil, "SCRAM-SHA-256-PLUS", []byte("n,,n=user,r=rOprNGfwEbeRWgbNEkqO"))[HeaderSize:])
	f.Add([]byte("SCRAM-SHA-256\x00\xff\xff\xff\xff"))
	f.Add([]byte("X\x00\x7f\xff\xff\xff"))
	f.Fuzz(func(t *testing.T, body []byte) {
		m := AppendPassword(nil, body)
		mechanism, data, ok := InitialResponse(m)
		if !ok || data == nil {
			return
		}
		if got := AppendInitialResponse(nil, mechanism, data); string(got) != string(m) {
			t.Fatalf("read %q, %q; written %q", mechanism, data, got)
		}
	})
}
