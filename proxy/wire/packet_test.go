package wire

import (
	"bytes"
	"testing"
)

func TestReplicationParameter(t *testing.T) {
	for value, want := range map[string]bool{
		"database": true, "true": true, "on": true, "1": true, "YES": true, "t": true, "y": true, "tru": true,
		"": false, "false": false, "off": false, "0": false, "no": false, "trueish": false, "o": false,
	} {
		if got := replicates(value); got != want {
			t.Errorf("%q: got %t", value, got)
		}
	}
}

func FuzzStartupPacket(f *testing.F) {
	f.Add([]byte("\x00\x00\x00\x17\x00\x03\x00\x00user\x00postgres\x00\x00"))
	f.Add([]byte("\x00\x00\x00\x10\x04\xd2\x16\x2e12345678"))
	f.Add([]byte("\x00\x00\x00\x08\x04\xd2\x16\x2f"))
	f.Add([]byte("\x00\x00\x00\x30\x00\x03\x00\x02user\x00a\x00database\x00b\x00replication\x00on\x00\x00"))
	f.Fuzz(func(t *testing.T, in []byte) {
		r := bytes.NewReader(in)
		p, err := ReadStartupPacket(r)
		if err != nil {
			return
		}
		if len(p) > MaxStartupPacket || !bytes.HasPrefix(in, p) || r.Len() != len(in)-len(p) {
			t.Fatalf("read %d bytes, %d are left of %d", len(p), r.Len(), len(in))
		}
		_, _ = ParseParameters(p)
	})
}
