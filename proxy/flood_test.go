package proxy

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"runtime"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5/pgproto3"

	"mbusproxy/proxy/internal/proxytest"
	"mbusproxy/proxy/wire"
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
	answered, unanswered := 1<<15, 12<<20 // messages, bytes
	if thorough() {
		answered = 1 << 17
	}
	bad := proxytest.Messages(proxytest.Parse("", "select nothing from nowhere"), &pgproto3.Flush{})
	copying := proxytest.Messages(proxytest.Parse("", "copy items from stdin"), proxytest.Bind("", ""), proxytest.Execute(""))
	one := proxytest.Messages(proxytest.Parse("one", "select 1"), proxytest.Sync())
	cases := []struct {
		name   string
		first  []pgproto3.FrontendMessage
		await  []byte // before the flood
		flood  []pgproto3.FrontendMessage
		last   []pgproto3.FrontendMessage
		want   string
		answer int // replies expected for each message of the flood
	}{
		{name: "Executes that are skipped", first: bad, await: []byte{'E'}, flood: proxytest.Messages(proxytest.Execute("")), last: proxytest.Messages(proxytest.Sync()), want: "ReadyForQuery I"},
		{name: "Parses that are skipped", first: bad, await: []byte{'E'}, flood: proxytest.Messages(proxytest.Parse("", "/*mbus4 late*/ x")), last: proxytest.Messages(proxytest.Sync()), want: "ReadyForQuery I"},
		{name: "skipped from the start", first: bad, flood: proxytest.Messages(proxytest.Bind("p", "one"), proxytest.Execute("p")), last: proxytest.Messages(proxytest.Sync()), want: "ErrorResponse ERROR 42P01"},
		{name: "without a Sync", first: one, await: []byte{'Z'}, flood: proxytest.Messages(proxytest.Bind("", "one"), proxytest.Execute("")), last: proxytest.Messages(proxytest.Sync()), want: "ReadyForQuery I", answer: 3},
		{name: "with Syncs", first: one, await: []byte{'Z'}, flood: proxytest.Messages(proxytest.Sync()), last: proxytest.Messages(proxytest.Query("select 'end'")), want: "end", answer: 1},
		{name: "ends of COPY", first: append(one, proxytest.Bind("", "one"), proxytest.Execute("")), await: []byte{'Z'}, flood: proxytest.Messages(&pgproto3.CopyDone{}), last: proxytest.Messages(proxytest.Sync()), want: "SELECT 1"},
		{name: "Syncs in COPY", first: copying, await: []byte{'G'}, flood: proxytest.Messages(proxytest.Sync()), last: proxytest.Messages(&pgproto3.CopyDone{}, proxytest.Sync()), want: "COPY 0"},
		{name: "Syncs in COPY of a Query", first: proxytest.Messages(proxytest.Query("copy items from stdin")), await: []byte{'G'}, flood: proxytest.Messages(proxytest.Sync()), last: proxytest.Messages(&pgproto3.CopyDone{}), want: "COPY 0"},
	}
	eachWay(t, func(t *testing.T, way how) {
		p := start(t, way, func(c *Config) { c.Rewriter = proxytest.Marking{} })
		for _, planned := range []bool{false, true} {
			for i, c := range cases {
				if planned == (i%2 == 0) && !thorough() {
					continue
				}
				t.Run(fmt.Sprintf("%s, %t", c.name, planned), func(t *testing.T) {
					w := login(t, p.addr)
					if planned {
						w.send(proxytest.Parse("late", proxytest.MarkLate+"select 1 from generate_series(1, 1)"), proxytest.Sync())
						w.until('Z')
					}
					w.send(c.first...)
					if c.await != nil {
						w.until(c.await...)
					}
					before := heap()
					flood := proxytest.Encoded(t, c.flood...)
					piece := bytes.Repeat(flood, 1<<10)
					n := unanswered / len(flood)
					if c.answer > 0 {
						n = answered
					}
					wrote := make(chan error, 1)
					go func() {
						for range n >> 10 {
							w.extend()
							if _, err := w.conn.Write(piece); err != nil {
								wrote <- err
								return
							}
						}
						_, err := w.conn.Write(proxytest.Encoded(t, &pgproto3.Flush{}))
						wrote <- err
					}()
					if c.answer > 0 {
						replies, tail := countReplies(t, w, n*c.answer, func() {
							proxytest.Eventually(t, "little is kept in the middle", func() bool { return heap()-before < 4<<20 })
						})
						if replies < n*c.answer {
							t.Fatalf("%d replies, then %q", replies, tail)
						}
					} else if err := <-wrote; err != nil {
						t.Fatal(err)
					}
					// What passes at the moment counts as well, so one look is not enough.
					proxytest.Eventually(t, "little is kept", func() bool { return heap()-before < 4<<20 })
					w.send(c.last...)
					if got := w.until('Z'); !strings.Contains(got, c.want) {
						t.Errorf("at the end: %.500s", got)
					}
					w.send(proxytest.Query("select 'goes' || ' on'"))
					for got := ""; !strings.Contains(got, "goes on"); {
						got = w.until('Z')
					}
				})
			}
		}
	})
}

// countReplies reads that many messages, behind which there are no others, with a look in the middle,
// and returns how many came. Its patience is for each thousand of them, since on a busy machine all take long.
func countReplies(t *testing.T, w *wireClient, count int, middle func()) (n int, last string) {
	t.Helper()
	conn := bufio.NewReader(w.conn)
	var header [wire.HeaderSize]byte
	for n < count {
		if n%1000 == 0 {
			w.extend()
		}
		if _, err := io.ReadFull(conn, header[:1]); err != nil {
			return n, err.Error()
		}
		_, _ = io.ReadFull(conn, header[1:])
		size, _ := wire.FrameLen(header[:])
		body := make([]byte, size-wire.HeaderSize)
		if _, err := io.ReadFull(conn, body); err != nil {
			return n, err.Error()
		}
		if header[0] == wire.MsgErrorResponse {
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
		p := start(t, way, func(c *Config) { c.Rewriter = proxytest.Marking{} })
		for name, m := range map[string][]pgproto3.FrontendMessage{
			"one run": proxytest.Messages(proxytest.Bind("", "one"), proxytest.Execute("")), "many": proxytest.Messages(proxytest.Bind("", "one"), proxytest.Execute(""), proxytest.Sync()), "Queries": proxytest.Messages(proxytest.Query("select 1")),
		} {
			w := login(t, p.addr)
			w.send(proxytest.Parse("one", "select 1"), proxytest.Sync())
			w.until('Z')
			w.write(bytes.Repeat(proxytest.Encoded(t, m...), n))
			w.write(proxytest.Encoded(t, proxytest.Query("select 'end'")))
			for got := ""; !strings.Contains(got, "end"); {
				if got = w.until('Z'); strings.Contains(got, "ErrorResponse") {
					t.Fatalf("%s: %.300s", name, got)
				}
			}
		}
	})
}
