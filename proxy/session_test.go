package proxy

import (
	"context"
	"encoding/binary"
	"fmt"
	"io"
	"net"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgproto3"
)

func TestCancel(t *testing.T) {
	eachWay(t, func(t *testing.T, way how) {
		for _, mode := range []string{"disable", "require"} {
			t.Run("server sslmode "+mode, func(t *testing.T) {
				p := start(t, way, func(c *Config) { c.Upstream = shared.upstream("sslmode=" + mode) })
				w := login(t, p.addr)
				w.send(&pgproto3.Query{String: "select pg_sleep(3600)"})
				pid := w.key.ProcessID
				admin := login(t, fmt.Sprintf("127.0.0.1:%d", shared.cluster.Port()))
				eventually(t, "the query runs", func() bool {
					return strings.Contains(admin.query(fmt.Sprintf("select state from pg_stat_activity where pid = %d and query like '%%3600%%'", pid)), "active")
				})
				wrong := dialWire(t, p.addr)
				wrong.send(&pgproto3.CancelRequest{ProcessID: pid, SecretKey: []byte{1, 2, 3, 4}})
				if got := readAll(t, wrong.conn); len(got) > 0 {
					t.Errorf("answer to a wrong key: %q", got)
				}
				right := dialWire(t, p.addr)
				right.send(&pgproto3.CancelRequest{ProcessID: pid, SecretKey: w.key.SecretKey})
				if got := readAll(t, right.conn); len(got) > 0 {
					t.Errorf("answer to a cancel request: %q", got)
				}
				if got := w.until('Z'); !strings.Contains(got, "57014") {
					t.Error(got)
				}
				w.send(&pgproto3.Terminate{})
				w.toEnd()
				eventually(t, "the key is forgotten", func() bool {
					p.cancels.mu.Lock()
					defer p.cancels.mu.Unlock()
					return len(p.cancels.targets) == 0
				})
			})
		}
	})
}

func TestReplicationIsAPlainRelay(t *testing.T) {
	eachWay(t, func(t *testing.T, way how) {
		p := start(t, way, func(c *Config) { c.Rewriter = marking{visible: true} })
		for _, value := range []string{"database", "true"} {
			w := dialWire(t, p.addr)
			w.startup("user", "postgres", "database", "postgres", "replication", value)
			w.until('Z')
			if got := w.query("IDENTIFY_SYSTEM"); !strings.Contains(got, "systemid") {
				t.Error(got)
			}
			if got := w.query("mbus4.one"); !strings.Contains(got, "ErrorResponse ERROR") || strings.Contains(got, "[") {
				t.Errorf("touched: %s", got)
			}
			if value == "true" {
				w.send(&pgproto3.Query{String: "START_REPLICATION PHYSICAL 0/1000000"})
				if got := w.until('W', 'E'); strings.Contains(got, "CopyBothResponse") {
					w.send(&pgproto3.CopyDone{})
					w.until('Z')
				}
			}
			w.send(&pgproto3.Terminate{})
			w.toEnd()
		}
	})
}

func TestNotificationsReachAnIdleSession(t *testing.T) {
	eachWay(t, func(t *testing.T, way how) {
		p := start(t, way, func(c *Config) { c.Rewriter = marking{} })
		ear, mouth := login(t, p.addr), login(t, p.addr)
		ear.query("listen /*mbus4*/ door")
		mouth.query("notify door, 'knock'")
		if got := ear.until('A'); got != "NotificationResponse door knock" {
			t.Error(got)
		}
	})
}

func TestServerBackendTerminated(t *testing.T) {
	eachWay(t, func(t *testing.T, way how) {
		p := start(t, way, nil)
		w, admin := login(t, p.addr), login(t, p.addr)
		admin.query(fmt.Sprintf("select pg_terminate_backend(%d)", w.key.ProcessID))
		if got := w.toEnd(); !strings.HasPrefix(got, `ErrorResponse FATAL 57P01`) || !strings.HasSuffix(got, "closed") {
			t.Error(got)
		}
		_ = w.conn.Close()
		eventually(t, "the session has ended", func() bool { return p.sessionCount() == 1 })
	})
}

// TestImpossibleLength: what the server makes of it is what the client sees.
func TestImpossibleLength(t *testing.T) {
	eachWay(t, func(t *testing.T, way how) {
		p := start(t, way, func(c *Config) { c.Rewriter = marking{} })
		for _, bytes := range []string{"Q\x00\x00\x00\x03", "Q\xff\xff\xff\xff", "X\x7f\xff\xff\xffabc", "?\x00\x00\x00\x04"} {
			var got [2]string
			for i, addr := range []string{p.addr, fmt.Sprintf("127.0.0.1:%d", shared.cluster.Port())} {
				w := login(t, addr)
				w.write([]byte(bytes))
				got[i] = w.toEnd()
			}
			if got[0] != got[1] {
				t.Errorf("%q: %s\nwithout the proxy: %s", bytes, got[0], got[1])
			}
		}
	})
}

// backendGone reports whether the server process has ended.
func backendGone(t *testing.T, admin *wire, pid uint32) func() bool {
	return func() bool {
		t.Helper()
		return strings.Contains(admin.query(fmt.Sprintf("select count(*) from pg_stat_activity where pid = %d", pid)), `DataRow ["0"]`)
	}
}

func TestClientKilled(t *testing.T) {
	eachWay(t, func(t *testing.T, way how) {
		p := start(t, way, nil)
		admin := login(t, p.addr)
		for name, leave := range map[string]func(*wire){
			"closed":      func(w *wire) { _ = w.conn.Close() },
			"reset":       func(w *wire) { _ = w.conn.(*net.TCPConn).SetLinger(0); _ = w.conn.Close() },
			"half closed": func(w *wire) { _ = w.conn.(*net.TCPConn).CloseWrite() },
			"mid-message": func(w *wire) { w.write([]byte("Q\x00\x00\x01\x00sel")); _ = w.conn.Close() },
			"while copying": func(w *wire) {
				w.send(&pgproto3.Query{String: "copy items from stdin"})
				w.until('G')
				_ = w.conn.Close()
			},
		} {
			t.Run(name, func(t *testing.T) {
				w := login(t, p.addr)
				w.query("begin")
				pid := w.key.ProcessID
				leave(w)
				eventually(t, "the backend has ended", backendGone(t, admin, pid))
				eventually(t, "the session has ended", func() bool { return p.sessionCount() == 1 })
			})
		}
	})
}

// TestLastWordsOfAClient: what a client sends before it closes is executed, as without a proxy.
func TestLastWordsOfAClient(t *testing.T) {
	eachWay(t, func(t *testing.T, way how) {
		p := start(t, way, nil)
		admin := login(t, p.addr)
		admin.query("create table if not exists words (way text, n int)")
		for i := range 20 {
			w := login(t, p.addr)
			w.send(&pgproto3.Query{String: fmt.Sprintf("insert into words values ('%s', %d)", way.name, i)}, &pgproto3.Terminate{})
			_ = w.conn.Close()
		}
		eventually(t, "all rows are there", func() bool {
			return strings.Contains(admin.query("select count(*) from words where way = '"+way.name+"'"), `DataRow ["20"]`)
		})
	})
}

func TestPanicEndsOneSession(t *testing.T) {
	eachWay(t, func(t *testing.T, way how) {
		p := start(t, way, func(c *Config) { c.Rewriter, c.Log = marking{}, nil })
		bystander, w := login(t, p.addr), login(t, p.addr)
		w.send(&pgproto3.Query{String: "select mbus4.panic()"})
		if got := w.toEnd(); got != "closed" {
			t.Error(got)
		}
		if n := p.counts.panics.Load(); n != 1 {
			t.Errorf("%d panics counted", n)
		}
		if got := bystander.query("select 'still here'"); !strings.Contains(got, "still here") {
			t.Error(got)
		}
		eventually(t, "the session has ended", func() bool { return p.sessionCount() == 1 })
	})
}

func TestOutOfStepEndsTheSession(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = l.Close() }()
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			go func() {
				var b [512]byte
				_, _ = c.Read(b[:])
				_, _ = c.Write([]byte("R\x00\x00\x00\x08\x00\x00\x00\x00Z\x00\x00\x00\x05I"))
				_, _ = c.Read(b[:])
				_, _ = c.Write([]byte("2\x00\x00\x00\x04Z\x00\x00\x00\x05I")) // BindComplete for a Query
				_, _ = io.Copy(io.Discard, c)
				_ = c.Close()
			}()
		}
	}()
	eachWay(t, func(t *testing.T, way how) {
		p := start(t, way, func(c *Config) {
			c.Log = nil
			c.Upstream = fmt.Sprintf("host=127.0.0.1 port=%d sslmode=disable", l.Addr().(*net.TCPAddr).Port)
		})
		w := login(t, p.addr)
		w.send(&pgproto3.Query{String: "select 1"})
		if got := w.toEnd(); got != "closed" {
			t.Error(got)
		}
		eventually(t, "the session has ended", func() bool { return p.sessionCount() == 0 })
		if n := p.counts.desyncs.Swap(0); n != 1 {
			t.Errorf("%d sessions counted as out of step", n)
		}
	})
}

func TestDrain(t *testing.T) {
	eachWay(t, func(t *testing.T, way how) {
		p := start(t, way, nil)
		idle, sleeping, inBlock := login(t, p.addr), login(t, p.addr), login(t, p.addr)
		fresh := dialWire(t, p.addr)
		fresh.startup("user", "clear_user", "database", "postgres")
		fresh.until('R')
		inBlock.query("begin")
		sleeping.send(&pgproto3.Query{String: "select pg_advisory_lock(77)"})
		sleeping.until('Z')
		busy := login(t, p.addr)
		busy.send(&pgproto3.Query{String: "select pg_advisory_lock_shared(77); select 'done'"})
		admin := login(t, fmt.Sprintf("127.0.0.1:%d", shared.cluster.Port()))
		eventually(t, "the query waits", func() bool {
			return strings.Contains(admin.query(fmt.Sprintf("select wait_event from pg_stat_activity where pid = %d", busy.key.ProcessID)), "advisory")
		})
		sleeping.query("begin")
		ended := make(chan error, 1)
		go func() { ended <- p.Shutdown(context.Background()) }()
		const goodbye = `ErrorResponse FATAL 57P01 "terminating connection due to administrator command"` + "\nclosed"
		if got := idle.toEnd(); got != goodbye {
			t.Errorf("idle session: %s", got)
		}
		if got := fresh.toEnd(); got != goodbye {
			t.Errorf("startup under way: %s", got)
		}
		if _, err := net.Dial("tcp", p.addr); err == nil {
			t.Error("still accepting")
		}
		eventually(t, "the idle session's backend has ended", backendGone(t, admin, idle.key.ProcessID))
		if got := inBlock.query("select 'in block'"); !strings.Contains(got, "in block") {
			t.Errorf("session in a block: %s", got)
		}
		inBlock.send(&pgproto3.Query{String: "commit"})
		if got := inBlock.toEnd(); got != "CommandComplete COMMIT\nReadyForQuery I\n"+goodbye {
			t.Errorf("session in a block: %s", got)
		}
		sleeping.query("select pg_advisory_unlock(77)")
		if got := busy.toEnd(); !strings.Contains(got, "done") || !strings.HasSuffix(got, goodbye) {
			t.Errorf("busy session: %s", got)
		}
		select {
		case err := <-ended:
			t.Errorf("Shutdown returned with a session left: %v", err)
		default:
		}
		sleeping.send(&pgproto3.Query{String: "rollback"})
		sleeping.toEnd()
		for _, w := range []*wire{idle, sleeping, inBlock, busy, fresh} {
			_ = w.conn.Close()
		}
		select {
		case err := <-ended:
			if err != nil {
				t.Error(err)
			}
		case <-time.After(patience):
			t.Fatalf("Shutdown does not return\n%s", stacks())
		}
	})
}

func TestDrainTimeout(t *testing.T) {
	eachWay(t, func(t *testing.T, way how) {
		p := start(t, way, func(c *Config) { c.DrainTimeout = 50 * time.Millisecond })
		inBlock, busy, deaf := login(t, p.addr), login(t, p.addr), login(t, p.addr)
		inBlock.query("begin")
		busy.send(&pgproto3.Query{String: "select pg_sleep(5)"})
		deaf.send(&pgproto3.Query{String: "select repeat('x', 1000) from generate_series(1, 100000)"})
		ended := make(chan error, 1)
		go func() { ended <- p.Shutdown(context.Background()) }()
		for _, w := range []*wire{inBlock, busy} {
			if got := w.toEnd(); !strings.Contains(got, "FATAL 57P01") {
				t.Error(got)
			}
			_ = w.conn.Close()
		}
		select {
		case err := <-ended:
			if err != nil {
				t.Error(err)
			}
		case <-time.After(patience):
			t.Fatalf("Shutdown does not return\n%s", stacks())
		}
	})
}

func TestCloseLeavesNoGoroutine(t *testing.T) {
	eachWay(t, func(t *testing.T, way how) {
		before := runtime.NumGoroutine()
		p := start(t, way, nil)
		for range 5 {
			w := login(t, p.addr)
			defer func() { _ = w.conn.Close() }()
		}
		if err := p.Close(); err != nil {
			t.Fatal(err)
		}
		p.wait(t)
		eventually(t, "goroutines have ended", func() bool { return runtime.NumGoroutine() <= before })
	})
}

// TestBigMessagesStream moves 64 MiB each way and looks at the heap.
func TestBigMessagesStream(t *testing.T) {
	const size = 64 << 20
	eachWay(t, func(t *testing.T, way how) {
		p := start(t, way, func(c *Config) { c.Rewriter = marking{} })
		w := login(t, p.addr)
		var before, peak runtime.MemStats
		runtime.GC()
		runtime.ReadMemStats(&before)
		done := make(chan error, 1)
		go func() { // a Query far beyond maxText, sent in pieces
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
			read += n
		}
		runtime.ReadMemStats(&peak)
		if grown := int64(peak.TotalAlloc - before.TotalAlloc); grown > size/2 {
			t.Errorf("%d bytes were allocated for one row", grown)
		}
	})
}

// TestIdleSessionMemory measures what 1,000 waiting sessions hold and that they cost no time.
func TestIdleSessionMemory(t *testing.T) {
	const n = 1000
	raiseFileLimit(t)
	eachWay(t, func(t *testing.T, way how) {
		p := start(t, way, func(c *Config) { c.Rewriter = marking{} })
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
		appendFrame(nil, msgQuery, []byte("select 1\x00")),
	} {
		if _, err := conn.Write(m); err != nil {
			t.Fatal(err)
		}
		var got []byte
		var b [1024]byte
		for len(got) < 6 || got[len(got)-6] != msgReadyForQuery {
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
		eventually(t, "the server waits for its client", func() bool {
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
		p := start(t, way, func(c *Config) { c.Rewriter, c.TLS = marking{}, shared.serverTLS() })
		for _, mode := range []string{"disable", "require"} {
			ctx, cancel := context.WithTimeout(t.Context(), patience)
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
