package frontend

import (
	"encoding/binary"
	"io"
	"net"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgproto3"

	"mbusproxy/integration/internal/harness"
)

// Stream is Connect for big things: a bare connection, with as much time as they take.
func Stream(t *testing.T, e harness.Endpoint, database string) net.Conn {
	t.Helper()
	w := Connect(t, e, database)
	if err := w.Hijacked.Conn.SetDeadline(time.Now().Add(10 * time.Minute)); err != nil {
		t.Fatal(err)
	}
	return w.Hijacked.Conn
}

// Send writes messages.
func Send(t *testing.T, conn net.Conn, messages ...pgproto3.FrontendMessage) {
	t.Helper()
	var all []byte
	for _, m := range messages {
		var err error
		if all, err = m.Encode(all); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := conn.Write(all); err != nil {
		t.Fatal(err)
	}
}

// ReadReplies reads up to ReadyForQuery or the end and returns the messages but for rows that are not short,
// of which it counts the bytes.
func ReadReplies(conn io.Reader) (small []byte, big int) {
	var head [5]byte
	for {
		if _, err := io.ReadFull(conn, head[:]); err != nil {
			return append(small, "end"...), big
		}
		size := int64(binary.BigEndian.Uint32(head[1:])) - 4
		if size > 100 && (head[0] == 'D' || head[0] == 'd') {
			n, err := io.CopyN(io.Discard, conn, size)
			big += int(n)
			if err != nil {
				return append(small, "end"...), big
			}
			continue
		}
		body := make([]byte, size)
		if _, err := io.ReadFull(conn, body); err != nil {
			return append(small, "end"...), big
		}
		small = append(append(small, head[:]...), body...)
		if head[0] == 'Z' {
			return small, big
		}
	}
}
