package proxy

import (
	"bytes"
	"fmt"
	"io"
	"net"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgproto3"
)

// heap is what is in use after a collection.
func heap() int64 {
	var m runtime.MemStats
	runtime.GC()
	runtime.GC() // pools keep what they have for one more
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}

// TestFloods: however many messages a client sends, the proxy keeps few of them, and the session goes on.
func TestFloods(t *testing.T) {
	// What is not answered is more than sockets hold, so the proxy must have taken much of it.
	const answered, unanswered = 1 << 17, 1 << 21
	bad := msgs(parse("", "select nothing from nowhere"), &pgproto3.Flush{})
	copying := msgs(parse("", "copy items from stdin"), bind("", ""), execute(""))
	one := msgs(parse("one", "select 1"), sync1())
	cases := []struct {
		name   string
		first  []pgproto3.FrontendMessage
		await  []byte // before the flood
		flood  []pgproto3.FrontendMessage
		last   []pgproto3.FrontendMessage
		want   string
		answer int // replies expected for each message of the flood
	}{
		{name: "Executes that are skipped", first: bad, await: []byte{'E'}, flood: msgs(execute("")), last: msgs(sync1()), want: "ReadyForQuery I"},
		{name: "Parses that are skipped", first: bad, await: []byte{'E'}, flood: msgs(parse("", "/*mbus4 late*/ x")), last: msgs(sync1()), want: "ReadyForQuery I"},
		{name: "skipped from the start", first: bad, flood: msgs(bind("p", "one"), execute("p")), last: msgs(sync1()), want: "ErrorResponse ERROR 42P01"},
		{name: "without a Sync", first: one, await: []byte{'Z'}, flood: msgs(bind("", "one"), execute("")), last: msgs(sync1()), want: "ReadyForQuery I", answer: 3},
		{name: "with Syncs", first: one, await: []byte{'Z'}, flood: msgs(sync1()), last: msgs(query("select 'end'")), want: "end", answer: 1},
		{name: "ends of COPY", first: append(one, bind("", "one"), execute("")), await: []byte{'Z'}, flood: msgs(&pgproto3.CopyDone{}), last: msgs(sync1()), want: "SELECT 1"},
		{name: "Syncs in COPY", first: copying, await: []byte{'G'}, flood: msgs(sync1()), last: msgs(&pgproto3.CopyDone{}, sync1()), want: "COPY 0"},
		{name: "Syncs in COPY of a Query", first: msgs(query("copy items from stdin")), await: []byte{'G'}, flood: msgs(sync1()), last: msgs(&pgproto3.CopyDone{}), want: "COPY 0"},
	}
	eachWay(t, func(t *testing.T, way how) {
		p := start(t, way, func(c *Config) { c.Rewriter = marking{} })
		for _, planned := range []bool{false, true} {
			for _, c := range cases {
				t.Run(fmt.Sprintf("%s, %t", c.name, planned), func(t *testing.T) {
					w := login(t, p.addr)
					_ = w.conn.SetDeadline(time.Now().Add(3 * patience))
					if planned {
						w.send(parse("late", markLate+"select 1 from generate_series(1, 1)"), sync1())
						w.until('Z')
					}
					w.send(c.first...)
					if c.await != nil {
						w.until(c.await...)
					}
					before := heap()
					piece := bytes.Repeat(encoded(t, c.flood...), 1<<10)
					n := unanswered
					if c.answer > 0 {
						n = answered
					}
					wrote := make(chan error, 1)
					go func() {
						for range n >> 10 {
							if _, err := w.conn.Write(piece); err != nil {
								wrote <- err
								return
							}
						}
						_, err := w.conn.Write(encoded(t, &pgproto3.Flush{}))
						wrote <- err
					}()
					if c.answer > 0 {
						replies, tail := countReplies(t, w.conn, n*c.answer, func() {
							eventually(t, "little is kept in the middle", func() bool { return heap()-before < 4<<20 })
						})
						if replies < n*c.answer {
							t.Fatalf("%d replies, then %q", replies, tail)
						}
					} else if err := <-wrote; err != nil {
						t.Fatal(err)
					}
					// What passes at the moment counts as well, so one look is not enough.
					eventually(t, "little is kept", func() bool { return heap()-before < 4<<20 })
					w.send(c.last...)
					if got := w.until('Z'); !strings.Contains(got, c.want) {
						t.Errorf("at the end: %.500s", got)
					}
					w.send(query("select 'goes' || ' on'"))
					for got := ""; !strings.Contains(got, "goes on"); {
						got = w.until('Z')
					}
				})
			}
		}
	})
}

// countReplies reads exactly that many messages, with a look in the middle, and returns how many came.
func countReplies(t *testing.T, conn net.Conn, count int, middle func()) (n int, last string) {
	t.Helper()
	var header [headerSize]byte
	for n < count {
		if _, err := io.ReadFull(conn, header[:1]); err != nil {
			return n, err.Error()
		}
		_, _ = io.ReadFull(conn, header[1:])
		size, _ := frameLen(header[:])
		body := make([]byte, size-headerSize)
		if _, err := io.ReadFull(conn, body); err != nil {
			return n, err.Error()
		}
		if header[0] == msgErrorResponse {
			return n, string(body)
		}
		if n++; n == count/2 {
			middle()
		}
	}
	return n, ""
}

// TestPipelineBeforeReading: a client may send much before it reads, as without the proxy.
func TestPipelineBeforeReading(t *testing.T) {
	const n = 20000
	eachWay(t, func(t *testing.T, way how) {
		p := start(t, way, func(c *Config) { c.Rewriter = marking{} })
		for name, m := range map[string][]pgproto3.FrontendMessage{
			"one run": msgs(bind("", "one"), execute("")), "many": msgs(bind("", "one"), execute(""), sync1()), "Queries": msgs(query("select 1")),
		} {
			w := login(t, p.addr)
			w.send(parse("one", "select 1"), sync1())
			w.until('Z')
			w.write(bytes.Repeat(encoded(t, m...), n))
			w.write(encoded(t, query("select 'end'")))
			for got := ""; !strings.Contains(got, "end"); {
				if got = w.until('Z'); strings.Contains(got, "ErrorResponse") {
					t.Fatalf("%s: %.300s", name, got)
				}
			}
		}
	})
}
