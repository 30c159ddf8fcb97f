package wire

import (
	"bytes"
	"testing"

	"github.com/jackc/pgx/v5/pgproto3"
)

// TestEncodeReport: fields keep their order, unknown ones their bytes; added ones stand where the server puts them.
func TestEncodeReport(t *testing.T) {
	frame := AppendFrame(nil, 'E', []byte("SFEHLER\x00VERROR\x00C42P01\x00zunknown \xff\x00Mold\x00P77\x00Hgoes\x00Fparse.c\x00\x00"))
	var before pgproto3.ErrorResponse
	if err := before.Decode(frame[HeaderSize:]); err != nil {
		t.Fatal(err)
	}
	after := before
	after.Message, after.Position, after.Hint, after.Detail = "new", 5, "", "added\x00x"
	got := EncodeReport(frame, &before, &after)
	want := AppendFrame(nil, 'E', []byte("SFEHLER\x00VERROR\x00C42P01\x00zunknown \xff\x00Mnew\x00Dadded x\x00P5\x00Fparse.c\x00\x00"))
	if !bytes.Equal(got, want) {
		t.Errorf("got  %q\nwant %q", got, want)
	}
}
