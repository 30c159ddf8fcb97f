package ops

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"net"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgproto3"

	"mbusproxy/integration/internal/frontend"
	"mbusproxy/integration/internal/harness"
)

// Big things pass through the proxy without being held by it. MBUS_LONG=1 makes them as big as the issue
// of the product says (make test-long); otherwise they are a sixteenth of it.

// bulk is how many bytes a big transfer has: a gigabyte, or less in short runs.
func bulk() int {
	if harness.Long() {
		return 1 << 30
	}
	return 64 << 20
}

// memoryBound is by how much the proxy's memory may grow while big things pass.
const memoryBound = 64 << 20

// boundsMemory runs f and fails if the proxy's memory has grown beyond memoryBound at any time.
func boundsMemory(t *testing.T, p *harness.Proxy, what string, f func()) {
	t.Helper()
	before := p.Memory(t, "VmRSS")
	began := time.Now()
	peak := p.Peak(t, f)
	t.Logf("%s: %v, the proxy's RSS %d MiB before, %d MiB at most", what, time.Since(began).Round(time.Millisecond), before>>20, peak>>20)
	if peak-before > memoryBound {
		t.Errorf("%s: memory grew by %d MiB", what, (peak-before)>>20)
	}
}

// A result of a gigabyte in one row and in many, and COPY of as much in both directions.
func TestLongTransfers(t *testing.T) {
	t.Parallel()
	p := harness.NewPlainProxy(t)
	database := harness.NewQueueDatabase(t)
	size := bulk()
	row := min(size/2, 500<<20)
	wide := fmt.Sprintf("select repeat('x', %d)", row)
	for _, c := range []struct {
		what, sql string
		bytes     int
	}{
		{"one row", wide, row},
		{"one row, with a call beside it", "select mbus4.is_msg_exists('none'), repeat('x', " + strconv.Itoa(row) + ")", row},
		{"many rows", fmt.Sprintf("select repeat('x', 1000) from generate_series(1, %d)", size/1000), size},
		{"COPY out", fmt.Sprintf("copy (select repeat('x', 999) from generate_series(1, %d)) to stdout", size/1000), size},
	} {
		conn := frontend.Stream(t, p.Endpoint, database)
		boundsMemory(t, p, c.what, func() {
			frontend.Send(t, conn, &pgproto3.Query{String: c.sql})
			if small, got := frontend.ReadReplies(conn); got < c.bytes-1000 || got > c.bytes+c.bytes/50 {
				t.Errorf("%s: %d bytes of data, want about %d; %q", c.what, got, c.bytes, small)
			}
		})
		_ = conn.Close()
	}
	conn := frontend.Stream(t, p.Endpoint, database)
	frontend.Send(t, conn, &pgproto3.Query{String: "create unlogged table bulk (n int, x text)"})
	frontend.ReadReplies(conn)
	boundsMemory(t, p, "COPY in", func() {
		frontend.Send(t, conn, &pgproto3.Query{String: "copy bulk from stdin"})
		line := strings.Repeat("y", 998)
		var chunk []byte
		rows := size / 1000
		for n := range rows {
			chunk = append(append(append(strconv.AppendInt(chunk, int64(n%10), 10), '\t'), line...), '\n')
			if len(chunk) > 1<<20 || n == rows-1 {
				frontend.Send(t, conn, &pgproto3.CopyData{Data: chunk})
				chunk = chunk[:0]
			}
		}
		frontend.Send(t, conn, &pgproto3.CopyDone{})
		if small, _ := frontend.ReadReplies(conn); !bytes.Contains(small, []byte(fmt.Sprintf("COPY %d\x00", rows))) {
			t.Errorf("COPY in: %q", small)
		}
	})
	_ = conn.Close()
	check := harness.Connect(t, harness.Direct(), database)
	harness.Want(t, check, fmt.Sprintf("%d|%d", size/1000, size/1000*998), "select count(*), sum(length(x)) from bulk")
	harness.Ask(t, check, "drop table bulk")
}

// 64 clients that read a result of a gigabyte each, slowly: what they do not take stays with the server.
func TestLongSlowReaders(t *testing.T) {
	t.Parallel()
	const clients = 64
	p := harness.NewPlainProxy(t)
	database := harness.NewQueueDatabase(t)
	span := 3 * time.Second
	if harness.Long() {
		span = 60 * time.Second
	}
	conns := make([]net.Conn, clients)
	for i := range conns {
		conns[i] = frontend.Stream(t, p.Endpoint, database)
	}
	var taken [clients]int
	boundsMemory(t, p, fmt.Sprintf("%d slow readers for %v", clients, span), func() {
		until := time.Now().Add(span)
		var reading sync.WaitGroup
		for i, conn := range conns {
			sql := "select repeat('x', 1000) from generate_series(1, 1000000)"
			if i%2 == 0 {
				sql = "select repeat('x', 5000000) from generate_series(1, 200)"
			}
			if i%8 == 0 {
				sql = "select repeat('x', 100000), mbus4.is_msg_exists('none') from generate_series(1, 10000)"
			}
			if i%8 == 1 { // they read nothing at all
				frontend.Send(t, conn, &pgproto3.Query{String: sql})
				continue
			}
			reading.Go(func() {
				frontend.Send(t, conn, &pgproto3.Query{String: sql})
				buf := make([]byte, 8<<10)
				tick := time.NewTicker(10 * time.Millisecond)
				defer tick.Stop()
				for time.Now().Before(until) {
					n, err := conn.Read(buf)
					if err != nil {
						t.Error(err)
						return
					}
					taken[i] += n
					<-tick.C
				}
			})
		}
		reading.Wait()
	})
	for i, n := range taken {
		if n == 0 && i%8 != 1 {
			t.Errorf("client %d got nothing", i)
		}
		_ = conns[i].Close()
	}
	check := harness.Connect(t, harness.Direct(), database)
	harness.Await(t, check, "select count(*) = 0 from pg_stat_activity where query like 'select repeat%' and datname = current_database()")
}

// A parameter of 300 MB passes, one of a gigabyte is refused by the server; neither is held by the proxy.
func TestLongParameters(t *testing.T) {
	t.Parallel()
	p := harness.NewPlainProxy(t)
	database := harness.NewQueueDatabase(t, "q")
	check := harness.Connect(t, harness.Direct(), database)
	sizes := []int{16 << 20, 1 << 30}
	if harness.Long() {
		sizes = []int{300 << 20, 1<<30 - 64, 1 << 30}
	}
	for _, size := range sizes {
		for _, c := range []struct{ sql, want string }{
			{"select length($1)", strconv.Itoa(size)},
			{"select 'mbus4', length($1)", strconv.Itoa(size)},
			{"select mbus4.is_msg_exists($1)", "f"},
			{"select length(mbus4.post('q', hstore('n', length($1)::text), iid => 'm'))", "1"},
			{"select mbus4.run_on_q($1)", "54000"},
		} {
			what := fmt.Sprintf("a parameter of %d MB for %s", size>>20, c.sql)
			call := strings.Contains(c.sql, "mbus4.")
			var saw []string
			for _, e := range []harness.Endpoint{harness.Direct(), p.Endpoint} {
				sql := c.sql
				if e == harness.Direct() && call { // which knows no calls, but what a length does
					sql = "select length($1)"
				}
				harness.Ask(t, check, "delete from mbus4.message")
				conn := frontend.Stream(t, e, database)
				bindBig := func() { saw = append(saw, bindBig(t, conn, sql, size)) }
				if e == harness.Direct() {
					bindBig()
				} else {
					boundsMemory(t, p, what, bindBig)
				}
				_ = conn.Close()
			}
			refused := strings.Contains(saw[0], "end,")
			switch {
			case (refused || !call) && saw[0] != saw[1]:
				t.Errorf("%s: direct\n%q\nthrough the proxy\n%q", what, saw[0], saw[1])
			case !refused && !strings.Contains(saw[1], c.want):
				t.Errorf("%s: %q", what, saw[1])
			}
			if (size == 1<<30) != refused {
				t.Errorf("%s: %q", what, saw[0])
			}
			if strings.Contains(c.sql, "post") && !refused {
				harness.Want(t, check, strconv.Itoa(size), "select data->'n' from mbus4.message")
			} else {
				harness.Want(t, check, "", "select data->'n' from mbus4.message")
			}
		}
	}
}

// bindBig executes sql with a parameter of size bytes less what else is in a Bind, and returns the replies.
func bindBig(t *testing.T, conn net.Conn, sql string, size int) string {
	t.Helper()
	frontend.Send(t, conn, frontend.Parse("", sql))
	// Names, no formats, one value, no formats for results.
	head := []byte{0, 0, 0, 0, 0, 1}
	head = binary.BigEndian.AppendUint32(head, uint32(size))
	message := binary.BigEndian.AppendUint32([]byte{'B'}, uint32(4+len(head)+size+2))
	end, err := (&pgproto3.Execute{}).Encode([]byte{0, 0})
	if err == nil {
		end, err = (&pgproto3.Sync{}).Encode(end)
	}
	if err != nil {
		t.Fatal(err)
	}
	sent := make(chan struct{})
	go func() {
		defer close(sent) // all, or up to where the server has closed
		chunk := bytes.Repeat([]byte("z"), 1<<20)
		if _, err := conn.Write(append(message, head...)); err != nil {
			return
		}
		for left := size; left > 0; left -= len(chunk) {
			if _, err := conn.Write(chunk[:min(left, len(chunk))]); err != nil {
				return
			}
		}
		_, _ = conn.Write(end)
	}()
	small, big := frontend.ReadReplies(conn)
	_ = conn.SetWriteDeadline(time.Unix(1, 0))
	<-sent
	return fmt.Sprintf("%s, %d bytes of rows", small, big)
}
