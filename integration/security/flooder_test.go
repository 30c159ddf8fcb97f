package security

import (
	"bufio"
	"bytes"
	"context"
	"encoding/binary"
	"fmt"
	"io"
	"net"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgproto3"

	"mbusproxy/integration/internal/frontend"
	"mbusproxy/integration/internal/harness"
)

// flooder is who attacks.
type flooder struct {
	*testing.T
	proxy    *harness.Proxy
	http     string // the address of the proxy's --http
	database string
	user     string // without any right
	member   string // of mbus4_user
	full     bool
	round    int // which time the attack is made
}

// scaled is n, or a share of it in short runs.
func (a *flooder) scaled(n int) int {
	if a.full {
		return n
	}
	return max(n/10, min(n, 150))
}

func (a *flooder) dsnOf(role string) string {
	return strings.Replace(a.proxy.Endpoint.DSN(a.database), "user=postgres", "user="+role, 1)
}

// ask sends one text from several sessions at once, each in both protocols, and takes any answer but the end of
// the session.
func (a *flooder) ask(text string) {
	a.Helper()
	var all sync.WaitGroup
	for range 4 {
		all.Go(func() {
			ctx, cancel := context.WithTimeout(a.Context(), 5*time.Minute)
			defer cancel()
			conn, err := pgconn.Connect(ctx, a.dsnOf(a.user))
			if err != nil {
				a.Errorf("connecting: %v", err)
				return
			}
			defer harness.Close(conn)
			_, err = conn.Exec(ctx, text).ReadAll()
			if harness.SQLState(err) == "" && err != nil {
				a.Errorf("%.60s…: %v", text, err)
			}
			if _, err := conn.Prepare(ctx, "", text, nil); harness.SQLState(err) == "" && err != nil {
				a.Errorf("preparing %.60s…: %v", text, err)
			}
			if err := conn.Exec(ctx, "select 1").Close(); err != nil {
				a.Errorf("after %.60s…: %v", text, err)
			}
		})
	}
	all.Wait()
}

// raw is a session's bare connection; it is closed with the attack.
func (a *flooder) raw() net.Conn {
	a.Helper()
	return a.rawAs(a.user)
}

// rawAs is raw as another role.
func (a *flooder) rawAs(user string) net.Conn {
	a.Helper()
	return frontend.Stream(a.T, a.proxy.Endpoint, a.database+" user="+user)
}

// skipped has the server skip n messages behind an error.
func (a *flooder) skipped(n int) {
	conn := a.raw()
	defer func() { _ = conn.Close() }()
	batch, err := (&pgproto3.Execute{}).Encode(nil)
	if err != nil {
		a.Fatal(err)
	}
	batch = []byte(strings.Repeat(string(batch), 10_000))
	frontend.Send(a.T, conn, &pgproto3.Parse{Query: "select mbus4.nosuch()"}, &pgproto3.Flush{})
	for range n / 10_000 {
		if _, err := conn.Write(batch); err != nil {
			a.Fatalf("writing: %v", err)
		}
	}
	frontend.Send(a.T, conn, &pgproto3.Sync{})
	if replies, _ := frontend.ReadReplies(conn); len(replies) == 0 || replies[len(replies)-6] != 'Z' {
		a.Errorf("after %d skipped messages: %.100q", n, replies)
	}
}

// refused sends n statements that are refused from each of eight sessions, thousands in one pipeline: the server skips all but the first.
func (a *flooder) refused(n int) {
	const most = 5000
	parse, err := (&pgproto3.Parse{Query: "select mbus4.post(nosuch=>1)"}).Encode(nil)
	if err != nil {
		a.Fatal(err)
	}
	batch, err := (&pgproto3.Sync{}).Encode([]byte(strings.Repeat(string(parse), most)))
	if err != nil {
		a.Fatal(err)
	}
	a.batches(a.user, 8, max(n/most, 1), batch, "42883")
}

// batches has sessions send a batch of messages again and again, each time until it is answered by something in which says stands.
func (a *flooder) batches(user string, sessions, rounds int, batch []byte, says string) {
	var all sync.WaitGroup
	for range sessions {
		conn := a.rawAs(user)
		all.Go(func() {
			defer func() { _ = conn.Close() }()
			for round := range rounds {
				if _, err := conn.Write(batch); err != nil {
					a.Errorf("writing: %v", err)
					return
				}
				if replies, _ := frontend.ReadReplies(conn); len(replies) == 0 || replies[len(replies)-6] != 'Z' || !strings.Contains(string(replies), says) {
					_ = conn.SetReadDeadline(time.Now().Add(5 * time.Second)) // what comes then may tell why
					more, _ := frontend.ReadReplies(conn)
					a.Errorf("after batch %d of %d bytes: %.100q, and then %.200q", round, len(batch), replies, more)
					return
				}
			}
		})
	}
	all.Wait()
}

// calls sends n batches of 50 statements that are served, from each of 16 sessions, without waiting for replies: Parses if parse is set, else calls that fail.
func (a *flooder) calls(n int, parse bool) {
	var batch []byte
	for i := range 50 {
		text := fmt.Sprintf("select mbus4.peek('nosuch') as x%d", i)
		var message pgproto3.FrontendMessage = &pgproto3.Query{String: text}
		if parse {
			message = &pgproto3.Parse{Query: text}
		}
		var err error
		if batch, err = message.Encode(batch); err != nil {
			a.Fatal(err)
		}
	}
	batch, err := (&pgproto3.Sync{}).Encode(batch)
	if err != nil {
		a.Fatal(err)
	}
	ends := 1
	if !parse {
		ends += 50
	}
	var all sync.WaitGroup
	for range 16 {
		conn := a.rawAs(a.member)
		all.Go(func() {
			defer func() { _ = conn.Close() }()
			go func() {
				for range n {
					if _, err := conn.Write(batch); err != nil {
						return // the reader says so
					}
				}
			}()
			replies := bufio.NewReader(conn)
			for range n * ends {
				if got, _ := frontend.ReadReplies(replies); bytes.HasSuffix(got, []byte("end")) {
					a.Errorf("the session has ended: %.100q", got)
					return
				}
			}
		})
	}
	all.Wait()
}

// longCalls sends n calls in texts of that size from each session, one after another.
func (a *flooder) longCalls(sessions, n, size int) {
	batch, err := (&pgproto3.Query{String: "select mbus4.peek('nosuch'), '" + strings.Repeat("x", size) + "'"}).Encode(nil)
	if err != nil {
		a.Fatal(err)
	}
	a.batches(a.member, sessions, n, batch, "") // the answer may be 54000, where others have the memory
}

// longRuns has sessions send a text of that size, one after the other, which all run until the last one does.
func (a *flooder) longRuns(sessions, size int) {
	watcher := harness.Connect(a.T, harness.Direct(), a.database)
	// A server that sleeps does not notice that its client has gone.
	defer harness.Ask(a.T, watcher, "select pg_terminate_backend(pid) from pg_stat_activity where usename = $1", a.member)
	for i := range sessions {
		conn := a.rawAs(a.member)
		defer func() { _ = conn.Close() }()
		frontend.Send(a.T, conn, &pgproto3.Query{String: "select pg_sleep(1000), mbus4.peek('q'), '" + strings.Repeat("x", size) + "'"})
		harness.Await(a.T, watcher, "select count(*) > $1 from pg_stat_activity where usename = $2 and wait_event = 'PgSleep'", strconv.Itoa(i), a.member)
	}
}

// prepares has sessions prepare n statements each, without waiting, which become twenty times as long when they are served.
func (a *flooder) prepares(sessions, n int) {
	var batch []byte
	var err error
	for i := range n {
		message := &pgproto3.Parse{Name: fmt.Sprint("s", i), Query: "select length(mbus4.readme()) as " + strings.Repeat("c", 60) + ", $1::text -- " + strings.Repeat("y", 300)}
		if batch, err = message.Encode(batch); err != nil {
			a.Fatal(err)
		}
	}
	if batch, err = (&pgproto3.Sync{}).Encode(batch); err != nil {
		a.Fatal(err)
	}
	a.batches(a.user, sessions, 1, batch, "")
}

// requests asks --http without waiting for answers, from 40 connections, until there are n answers.
func (a *flooder) requests(path string, n int) {
	request := []byte(strings.Repeat("GET "+path+" HTTP/1.1\r\nHost: x\r\n\r\n", 50))
	var all sync.WaitGroup
	for range 40 {
		all.Go(func() {
			conn, err := dial(a.http)
			if err != nil {
				return
			}
			defer func() { _ = conn.Close() }()
			go func() {
				for {
					if _, err := conn.Write(request); err != nil {
						return
					}
				}
			}()
			answers := bufio.NewReader(conn)
			for range n / 40 {
				answer, err := http.ReadResponse(answers, nil)
				if err != nil {
					return // such a connection has made room
				}
				if _, err := io.Copy(io.Discard, answer.Body); err != nil {
					return
				}
			}
		})
	}
	all.Wait()
}

// hangUps sends the same bytes over n connections, of which none waits for an answer.
func (a *flooder) hangUps(address string, send []byte, n int) {
	var all sync.WaitGroup
	for range 2 {
		all.Go(func() {
			for range n / 2 {
				conn, err := dial(address)
				if err != nil {
					continue // the queue of the listener is full
				}
				_, _ = conn.Write(send)
				_ = conn.Close()
			}
		})
	}
	all.Wait()
}

// unfinished begins n messages of size bytes that never end, of these kinds in turn, ten at a time.
func (a *flooder) unfinished(n, size int, kinds string) {
	text := []byte("select mbus4.post('q', '" + strings.Repeat("x", size-100))
	conns := make([]net.Conn, n)
	for i := range conns {
		conns[i] = a.raw()
	}
	var writers sync.WaitGroup
	for first := range 10 {
		writers.Go(func() {
			for i := first; i < n; i += 10 {
				head := binary.BigEndian.AppendUint32([]byte{kinds[i%len(kinds)]}, uint32(size))
				if head[0] == 'P' {
					head = append(head, 0) // the statement has no name
				}
				if err := conns[i].SetWriteDeadline(time.Now().Add(time.Second)); err != nil {
					a.Error(err)
				}
				_, _ = conns[i].Write(head)
				_, _ = conns[i].Write(text) // the proxy may refuse to take it all
			}
		})
	}
	writers.Wait()
	for _, c := range conns {
		_ = c.Close()
	}
}

// texts has sessions of a role without rights send some texts each that nobody has sent before, with a call and as many tokens.
func (a *flooder) texts(sessions, each, tokens int) {
	a.newTexts(a.user, sessions, each, func(i, n int) string {
		return fmt.Sprintf("select mbus4.is_msg_exists('%d.%d.%d')", a.round, i, n) + strings.Repeat(",1", tokens/2)
	})
}

// nested has sessions of a member send some texts each that nobody has sent before, with a call in as many parentheses.
func (a *flooder) nested(sessions, each, depth int) {
	a.newTexts(a.member, sessions, each, func(i, n int) string {
		return fmt.Sprintf("select mbus4.post('q', %s'a=>1'%s) where false and '%d.%d.%d' = ''", strings.Repeat("(", depth), strings.Repeat(")", depth), a.round, i, n)
	})
}

// newTexts has sessions of a role send some texts each, of which the i-th sends text(i, n).
func (a *flooder) newTexts(role string, sessions, each int, text func(i, n int) string) {
	var all sync.WaitGroup
	for i := range sessions {
		all.Go(func() {
			ctx, cancel := context.WithTimeout(a.Context(), 5*time.Minute)
			defer cancel()
			conn, err := pgconn.Connect(ctx, a.dsnOf(role))
			if err != nil {
				a.Errorf("connecting: %v", err)
				return
			}
			defer harness.Close(conn)
			for n := range each {
				sql := text(i, n)
				if _, err := conn.Exec(ctx, sql).ReadAll(); harness.SQLState(err) == "" && err != nil {
					a.Errorf("%.60s…: %v", sql, err)
				}
			}
		})
	}
	all.Wait()
}

// silentHTTP opens n connections to --http, half of which begin a request.
func (a *flooder) silentHTTP(n int) {
	var conns []net.Conn
	for i := range n {
		conn, err := dial(a.http)
		if err != nil {
			break
		}
		conns = append(conns, conn)
		if i%2 == 1 {
			_, _ = conn.Write([]byte("GET /metrics HTTP/1.1\r\n"))
		}
	}
	for _, c := range conns {
		_ = c.Close()
	}
}

// scrape asks for /metrics n times, from 40 connections.
func (a *flooder) scrape(n int) {
	var all sync.WaitGroup
	for range 40 {
		all.Go(func() {
			for range n / 40 {
				answer, err := http.Get("http://" + a.http + "/metrics")
				if err != nil {
					return // such a connection has made room
				}
				_ = answer.Body.Close()
			}
		})
	}
	all.Wait()
}

// write runs a statement past the functions, as a member of mbus4_user.
func (a *flooder) write(sql string, args ...any) {
	conn := harness.ConnectAs(a.T, harness.Direct(), a.database, a.member)
	defer harness.Close(conn)
	harness.Ask(a.T, conn, sql, args...)
}
