package proxy

import (
	"context"
	"encoding/binary"
	"fmt"
	"net"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgproto3"

	"mbusproxy/proxy/internal/proxytest"
	"mbusproxy/proxy/wire"
)

// TestBigMessagesStream moves 64 MiB each way and looks at the heap.
func TestBigMessagesStream(t *testing.T) {
	const size = 64 << 20
	eachWay(t, func(t *testing.T, way how) {
		p := start(t, way, func(c *Config) { c.Rewriter = proxytest.Marking{} })
		w := login(t, p.addr)
		var before, peak runtime.MemStats
		runtime.GC()
		runtime.ReadMemStats(&before)
		done := make(chan error, 1)
		go func() { // a Query far beyond wire.MaxText, sent in pieces
			head, tail := "select length('mbus4", "')\x00"
			header := binary.BigEndian.AppendUint32([]byte{'Q'}, uint32(4+len(head)+size+len(tail)))
			_, err := w.conn.Write(append(header, head...))
			chunk := []byte(strings.Repeat("z", 1<<20))
			for range size >> 20 {
				if err == nil {
					_, err = w.conn.Write(chunk)
				}
			}
			if err == nil {
				_, err = w.conn.Write([]byte(tail))
			}
			done <- err
		}()
		got := w.until('Z')
		if err := <-done; err != nil {
			t.Fatal(err)
		}
		runtime.ReadMemStats(&peak)
		if !strings.Contains(got, fmt.Sprint(size+5)) {
			t.Errorf("got %.200s", got)
		}
		if grown := int64(peak.TotalAlloc - before.TotalAlloc); grown > size/2 {
			t.Errorf("%d bytes were allocated for one message", grown)
		}
		w.send(&pgproto3.Query{String: "select repeat('x', 64 << 20)"})
		read := 0
		buf := make([]byte, 1<<16)
		runtime.ReadMemStats(&before)
		for read < size {
			n, err := w.conn.Read(buf)
			if err != nil {
				t.Fatal(err)
			}
			if half := read < size/2; half && read+n >= size/2 {
				// What is held in mid-row, not what passed: under -race pools drop buffers at random.
				runtime.GC()
				runtime.ReadMemStats(&peak)
			}
			read += n
		}
		if grown := int64(peak.HeapAlloc) - int64(before.HeapAlloc); grown > size/4 {
			t.Errorf("%d bytes were held in the middle of one row", grown)
		}
	})
}

// TestIdleSessionMemory measures what 300 waiting sessions hold and that they cost no time.
func TestIdleSessionMemory(t *testing.T) {
	const n = 300
	raiseFileLimit(t)
	eachWay(t, func(t *testing.T, way how) {
		p := start(t, way, func(c *Config) { c.Rewriter = proxytest.Marking{} })
		memory := func() uint64 {
			runtime.GC()
			runtime.GC()
			var m runtime.MemStats
			runtime.ReadMemStats(&m)
			return m.HeapInuse + m.StackInuse
		}
		conns := make([]net.Conn, n)
		before := memory()
		for i := range conns {
			conns[i] = rawLogin(t, p.addr)
			defer func() { _ = conns[i].Close() }()
		}
		perSession := (int64(memory()) - int64(before)) / n
		t.Logf("%s: %d bytes for each idle session (with the test's own end of it)", way.name, perSession)
		if perSession > 64<<10 {
			t.Errorf("%d bytes for each idle session", perSession)
		}
		var start, end syscall.Rusage
		_ = syscall.Getrusage(syscall.RUSAGE_SELF, &start)
		<-time.After(500 * time.Millisecond) // the span measured, not a wait for something
		_ = syscall.Getrusage(syscall.RUSAGE_SELF, &end)
		used := time.Duration(end.Utime.Nano() - start.Utime.Nano() + end.Stime.Nano() - start.Stime.Nano())
		if used > 50*time.Millisecond {
			t.Errorf("idle sessions used %v of processor time in half a second", used)
		}
	})
}

// rawLogin starts a session, sends one query and returns the bare connection.
func rawLogin(t *testing.T, addr string) net.Conn {
	t.Helper()
	conn, err := net.Dial("tcp", addr)
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range [][]byte{
		packet(3<<16, "user\x00postgres\x00database\x00postgres\x00\x00"),
		wire.AppendFrame(nil, wire.MsgQuery, []byte("select 1\x00")),
	} {
		if _, err := conn.Write(m); err != nil {
			t.Fatal(err)
		}
		var got []byte
		var b [1024]byte
		for len(got) < 6 || got[len(got)-6] != wire.MsgReadyForQuery {
			k, err := conn.Read(b[:])
			if err != nil {
				t.Fatal(err)
			}
			got = append(got, b[:k]...)
		}
	}
	return conn
}

func raiseFileLimit(t *testing.T) {
	t.Helper()
	var lim syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &lim); err != nil {
		t.Fatal(err)
	}
	lim.Cur = lim.Max
	if err := syscall.Setrlimit(syscall.RLIMIT_NOFILE, &lim); err != nil {
		t.Fatal(err)
	}
}

// TestSlowClientHoldsTheServerBack: what a client does not take stays with the server.
func TestSlowClientHoldsTheServerBack(t *testing.T) {
	eachWay(t, func(t *testing.T, way how) {
		p := start(t, way, nil)
		w := login(t, p.addr)
		admin := login(t, p.addr)
		w.send(&pgproto3.Query{String: "select repeat('x', 1000) from generate_series(1, 50000)"})
		proxytest.Eventually(t, "the server waits for its client", func() bool {
			return strings.Contains(admin.query(fmt.Sprintf("select wait_event from pg_stat_activity where pid = %d", w.key.ProcessID)), "ClientWrite")
		})
		if got := strings.Count(w.until('Z'), "DataRow"); got != 50000 {
			t.Errorf("%d rows", got)
		}
	})
}

// TestClientLibrary runs pgconn's own idea of the protocol, pipelines and COPY included.
func TestClientLibrary(t *testing.T) {
	eachWay(t, func(t *testing.T, way how) {
		p := start(t, way, func(c *Config) { c.Rewriter, c.TLS = proxytest.Marking{}, shared.serverTLS() })
		for _, mode := range []string{"disable", "require"} {
			ctx, cancel := context.WithTimeout(t.Context(), proxytest.Patience)
			defer cancel()
			conn, err := pgconn.Connect(ctx, p.dsn("sslmode="+mode))
			if err != nil {
				t.Fatal(err)
			}
			if _, err := conn.Exec(ctx, "create temp table c (a int, b text)").ReadAll(); err != nil {
				t.Fatal(err)
			}
			var rows strings.Builder
			for i := range 200000 {
				fmt.Fprintf(&rows, "%d\tmbus4\n", i)
			}
			tag, err := conn.CopyFrom(ctx, strings.NewReader(rows.String()), "copy c from stdin")
			if err != nil || tag.RowsAffected() != 200000 {
				t.Fatalf("%v, %v", tag, err)
			}
			var back strings.Builder
			if _, err := conn.CopyTo(ctx, &back, "copy c to stdout"); err != nil || back.String() != rows.String() {
				t.Fatalf("copy out: %v, %d bytes of %d", err, back.Len(), rows.Len())
			}
			if _, err := conn.CopyFrom(ctx, strings.NewReader("x\n"), "copy c from stdin"); err == nil {
				t.Error("bad row was taken")
			}
			pipe := conn.StartPipeline(ctx)
			for i := range 500 {
				pipe.SendPrepare(fmt.Sprintf("s%d", i), "select /*mbus4*/ $1::int", nil)
				pipe.SendQueryPrepared(fmt.Sprintf("s%d", i), [][]byte{[]byte("7")}, nil, nil)
			}
			if err := pipe.Sync(); err != nil {
				t.Fatal(err)
			}
			if err := pipe.Close(); err != nil {
				t.Fatal(err)
			}
			if err := conn.Close(ctx); err != nil {
				t.Error(err)
			}
		}
	})
}
