package wire

import (
	"bytes"
	"io"
	"net"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/jackc/pgx/v5/pgproto3"

	"mbusproxy/integration/internal/frontend"
	"mbusproxy/integration/internal/harness"
)

// tap is a way to the server that keeps what goes there.
type tap struct {
	endpoint harness.Endpoint
	mu       sync.Mutex
	streams  []*bytes.Buffer // one for each connection
}

func newTap(t *testing.T) *tap {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
	tp := &tap{endpoint: harness.Endpoint{Name: "tap", Host: "127.0.0.1", Port: l.Addr().(*net.TCPAddr).Port}}
	go func() {
		for {
			client, err := l.Accept()
			if err != nil {
				return
			}
			server, err := net.Dial("tcp", net.JoinHostPort(harness.Direct().Host, strconv.Itoa(harness.Direct().Port)))
			if err != nil {
				_ = client.Close()
				continue
			}
			kept := new(bytes.Buffer)
			tp.mu.Lock()
			tp.streams = append(tp.streams, kept)
			tp.mu.Unlock()
			go func() {
				_, _ = io.Copy(client, server)
				_ = client.Close()
			}()
			go func() {
				_, _ = io.Copy(io.MultiWriter(server, keeper{tp, kept}), client)
				_ = server.Close()
			}()
		}
	}()
	return tp
}

// keeper writes to a stream of a tap.
type keeper struct {
	tap *tap
	to  *bytes.Buffer
}

func (k keeper) Write(b []byte) (int, error) {
	k.tap.mu.Lock()
	defer k.tap.mu.Unlock()
	return k.to.Write(b)
}

// stream is what one connection has sent: the one whose startup names the database and the application.
func (tp *tap) stream(t *testing.T, database string) []byte {
	t.Helper()
	tp.mu.Lock()
	defer tp.mu.Unlock()
	for _, s := range tp.streams {
		b := s.Bytes()
		if startup := b[:min(len(b), 400)]; bytes.Contains(startup, []byte("database\x00"+database+"\x00")) && bytes.Contains(startup, []byte("identical")) {
			return bytes.Clone(b)
		}
	}
	t.Fatal("the session did not come by")
	return nil
}

// What the server gets for texts without a call is what the client has sent, to the byte.
func TestByteIdentical(t *testing.T) {
	t.Parallel()
	for _, flags := range [][]string{nil, {"--unqualified", "all"}} {
		tp := newTap(t)
		p := harness.NewProxy(t, append([]string{"--upstream", tp.endpoint.DSN("postgres"), "--admin", tp.endpoint.DSN("postgres")}, flags...)...)
		database := harness.NewQueueDatabase(t, "q")
		e := p.Endpoint
		w := frontend.Connect(t, e, database+" application_name=identical")
		long := strings.Repeat("mbus4.post('q', 'a=>1') ", 100_000)
		texts := []string{
			"select 1 /* mbus4.post('q', 'a=>1') */", "select 1 -- mbus4.consume('q')", "/* /* mbus4.take(1) */ */ select\r\n1",
			"select 'mbus4.post(''q'')', E'\\'mbus4.post(1)\\'', U&'mbus4\\002epost()', N'mbus4.x', b'1', x'1f'",
			"select $$mbus4.post('q', '')$$, $mbus4$ $$ mbus4.consume('q') $$ $mbus4$, $1$",
			`select "mbus4.post('q')", "mbus4"".post(" from (values (1, 2)) v("mbus4.post('q')", "mbus4"".post(")`,
			"select mbus4, v.mbus4, mbus4.mbus4 from (values (1)) v(mbus4), (values (2)) mbus4(mbus4)",
			"create temp table mbus4 (mbus4 int default 4, mbus4_post text)",
			"insert into mbus4 (mbus4, mbus4_post) values (1, 'mbus4.post()')",
			"select public.mbus4(1)", "select mbus4.nosuch(1)", "select mbus4.message.* from mbus4.message", "select 'mbus4.post(", "select /* mbus4.post(",
			"do $$ begin perform mbus4.post('q', 'a=>1'); end $$", "", ";",
			"create function pg_temp.f() returns text language sql as $$ select mbus4.post('q', 'é\xff') $$; create function",
			"create or replace function pg_temp.f() returns int language plpgsql as $$ begin perform mbus4.post('q', ''); end $$", "\x01 mbus4", "select 'é漢😀 mbus4', '\xff mbus4'",
			"select $$" + long + "$$ is null", "select 1 /* " + long + "*/", "select '" + strings.ReplaceAll(long, "'", "''") + "' is null, 4",
			"select * from (select 1 as post) take(consume) where take.consume in (1)",
		}
		var sent []byte
		for _, text := range texts {
			messages := []pgproto3.FrontendMessage{&pgproto3.Query{String: text}}
			for range 2 {
				for _, m := range messages {
					var err error
					if sent, err = m.Encode(sent); err != nil {
						t.Fatal(err)
					}
				}
				w.Exchange("ReadyForQuery", messages...)
				messages = []pgproto3.FrontendMessage{
					frontend.Parse("mbus4", text), frontend.DescribeStatement("mbus4"), frontend.Bind("mbus4.post(", "mbus4", "mbus4.post('q')"),
					frontend.Execute("mbus4.post(", 0), &pgproto3.Close{ObjectType: 'S', Name: "mbus4"}, frontend.Sync(),
				}
			}
		}
		got := tp.stream(t, database)
		if !bytes.HasSuffix(got, sent) || len(got)-len(sent) > 400 {
			at := max(0, len(got)-len(sent))
			for i := range sent {
				if at+i >= len(got) || got[at+i] != sent[i] {
					t.Errorf("%v: of %d bytes sent %d came; byte %d differs: %.100q instead of %.100q", flags, len(sent), len(got), i, got[min(len(got), at+i):], sent[i:])
					break
				}
			}
		}
	}
}
