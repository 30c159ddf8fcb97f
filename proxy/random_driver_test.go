package proxy

import (
	"bytes"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgproto3"
)

// TestRandomDriver plays random scripts, directly and through the proxy, and compares every byte of the
// replies. A script goes on after a turn either at once or when all replies have come, behind a Flush as
// well as behind a Sync. Every other script has statements with steps and hidden ones; see randomScript for
// what is in it.
//
// MBUS_RANDOM_TIME is how long to go on, MBUS_RANDOM_SEED the seed of the first script; each next one has
// the next seed.
func TestRandomDriver(t *testing.T) {
	limit, seed := randomSettings(t)
	eachWay(t, func(t *testing.T, way how) {
		p := start(t, way, func(c *Config) { c.Rewriter = marking{} })
		direct := fmt.Sprintf("127.0.0.1:%d", shared.cluster.Port())
		first, messages, replies := seed, 0, 0
		for began := time.Now(); time.Since(began) < limit/2; seed++ {
			sc := randomScript(rand.New(rand.NewPCG(seed, 3)), seed%2 == 1)
			play := func(s script) (want, got [][]byte, outOfStep bool) {
				before := p.counts.desyncs.Load() + p.counts.panics.Load()
				want, got = perform(t, direct, s, seed), perform(t, p.addr, s, seed)
				return want, got, p.counts.desyncs.Load()+p.counts.panics.Load() > before
			}
			want, got, lost := play(sc)
			if firstDifference(want, got) >= 0 || lost {
				show := func(s script) {
					at := max(0, firstDifference(want, got))
					t.Errorf("MBUS_RANDOM_SEED=%d:\n%s\nout of step: %v; the replies differ from the %dth on; direct:\n%s\nthrough the proxy:\n%s",
						seed, s, lost, at, around(want, at), around(got, at))
				}
				show(sc)
				show(shrink(sc, func(s script) bool {
					w, g, l := play(s)
					failed := firstDifference(w, g) >= 0 && l == lost
					if failed {
						want, got = w, g
					}
					return failed
				}))
				return
			}
			messages += sc.count()
			replies += len(want)
		}
		t.Logf("%d scripts, seeds from %d, with %d messages and %d replies", seed-first, first, messages, replies)
	})
}

// randomSettings reads how long to go on and the seed to begin with.
func randomSettings(t *testing.T) (limit time.Duration, seed uint64) {
	t.Helper()
	limit, seed = 6*time.Second, uint64(time.Now().UnixMicro())
	var err error
	if text := os.Getenv("MBUS_RANDOM_TIME"); text != "" {
		if limit, err = time.ParseDuration(text); err != nil {
			t.Fatal(err)
		}
	}
	if text := os.Getenv("MBUS_RANDOM_SEED"); text != "" {
		if seed, err = strconv.ParseUint(text, 10, 64); err != nil {
			t.Fatal(err)
		}
	}
	return limit, seed
}

// turn is what a client sends before it does something else.
type turn struct {
	messages []pgproto3.FrontendMessage
	wait     bool // until all that is owed has come
}

type script []turn

func (s script) count() (n int) {
	for _, t := range s {
		n += len(t.messages)
	}
	return n
}

func (s script) String() string {
	var b strings.Builder
	for _, t := range s {
		b.WriteString(transcript(t.messages))
		if t.wait {
			b.WriteString("-- wait\n")
		}
	}
	return b.String()
}

// shrink leaves out of a script that fails as much as it can, with the time it has.
func shrink(s script, fails func(script) bool) script {
	var units []turn // of one message each, of which the last waits if the turn did
	for _, t := range s {
		for i, m := range t.messages {
			units = append(units, turn{msgs(m), t.wait && i == len(t.messages)-1})
		}
	}
	for until, size := time.Now().Add(patience), len(units)/2; size > 0; size /= 2 {
		for at := 0; at+size < len(units) && time.Now().Before(until); { // the end stays
			if less := slices.Delete(slices.Clone(units), at, at+size); fails(less) {
				units = less
			} else {
				at += size
			}
		}
	}
	return units
}

// perform plays a script in random pieces and returns the replies, each with all its bytes; the last is
// how the stream ended.
func perform(t *testing.T, addr string, s script, seed uint64) [][]byte {
	t.Helper()
	w := login(t, addr)
	defer func() { _ = w.conn.Close() }()
	w.query("truncate items, deferred")
	rnd := rand.New(rand.NewPCG(seed, 4))
	p := player{conn: w.conn}
	for _, turn := range s {
		var all []byte
		for _, m := range turn.messages {
			var err error
			if all, err = m.Encode(all); err != nil {
				t.Fatal(err)
			}
			p.sent(m)
		}
		for len(all) > 0 {
			n := min(len(all), 1+rnd.IntN(1+rnd.IntN(4*len(all))))
			if _, err := w.conn.Write(all[:n]); err != nil {
				return p.toEnd() // the server has ended the session; what it said is compared
			}
			all = all[n:]
		}
		for turn.wait && len(p.owed) > 0 {
			if err := p.receive(); err != nil {
				return append(p.replies, []byte(err.Error()))
			}
		}
	}
	return p.toEnd()
}

// player keeps account of the replies in the way of a simple client: it knows which are still to come.
type player struct {
	conn     net.Conn
	replies  [][]byte
	owed     []byte // the types of the messages not answered yet
	skipping bool   // the server ignores what comes before a Sync
}

func (p *player) sent(m pgproto3.FrontendMessage) {
	typ := byte(0)
	switch m.(type) {
	case *pgproto3.Sync:
		typ, p.skipping = 'S', false
	case *pgproto3.Query:
		typ = 'Q'
	case *pgproto3.FunctionCall:
		typ = 'F'
	case *pgproto3.Parse:
		typ = 'P'
	case *pgproto3.Bind:
		typ = 'B'
	case *pgproto3.Describe:
		typ = 'D'
	case *pgproto3.Execute:
		typ = 'E'
	case *pgproto3.Close:
		typ = 'C'
	}
	if typ != 0 && !p.skipping {
		p.owed = append(p.owed, typ)
	}
}

// receive takes one reply.
func (p *player) receive() error {
	head := make([]byte, headerSize)
	if _, err := io.ReadFull(p.conn, head); err != nil {
		return err
	}
	size, ok := frameLen(head)
	if !ok {
		return errFraming
	}
	frame := append(head, make([]byte, size-headerSize)...)
	if _, err := io.ReadFull(p.conn, frame[headerSize:]); err != nil {
		return err
	}
	switch frame[0] {
	case 'A':
		clear(frame[headerSize : headerSize+4]) // the process that notified
	case 'E':
		// Of a portal that is not there or a failed transaction the Describe before a step gives the
		// error; that differs in where in its source the server says it.
		frame = setFrameLen(inSource.ReplaceAll(frame, []byte("Rexec_message\x00")))
	}
	p.replies = append(p.replies, frame)
	if len(p.owed) == 0 {
		return nil
	}
	simple := bytes.IndexByte([]byte("SQF"), p.owed[0]) >= 0
	switch typ := frame[0]; {
	case typ == 'Z', bytes.IndexByte([]byte("123"), typ) >= 0, p.owed[0] == 'D' && (typ == 'T' || typ == 'n'),
		p.owed[0] == 'E' && bytes.IndexByte([]byte("CIs"), typ) >= 0:
		p.owed = p.owed[1:]
	case typ == 'E' && !simple:
		at := bytes.IndexByte(p.owed, 'S')
		if p.skipping = at < 0; p.skipping {
			at = len(p.owed)
		}
		p.owed = p.owed[at:]
	}
	return nil
}

// toEnd takes all that comes until the session ends.
func (p *player) toEnd() [][]byte {
	for {
		if err := p.receive(); err != nil {
			return append(p.replies, []byte(err.Error()))
		}
	}
}

// firstDifference is the index of the first reply that is not the same; -1 when all are. A server that
// ends a session by itself closes with input unread, and then the system may drop its last words.
func firstDifference(a, b [][]byte) int {
	n := max(len(a), len(b))
	if last := longer(a, b); len(last) > 1 && bytes.HasPrefix(last[len(last)-2][min(headerSize, len(last[len(last)-2])):], []byte("SFATAL")) {
		n = min(len(a), len(b)) - 1
	}
	for i := range n {
		if i >= len(a) || i >= len(b) || !bytes.Equal(a[i], b[i]) {
			return i
		}
	}
	return -1
}

// inSource is the line and routine in errors about the portal of an Execute or Describe.
var inSource = regexp.MustCompile(`L\d+\x00Rexec_(describe_portal|execute)_message\x00`) //nolint:gochecknoglobals // a constant

func longer(a, b [][]byte) [][]byte {
	if len(a) > len(b) {
		return a
	}
	return b
}

// around shows the replies near the one with the index at, and that one's bytes.
func around(replies [][]byte, at int) string {
	var b strings.Builder
	for i := max(0, at-10); i < min(len(replies), at+3); i++ {
		fe := pgproto3.NewFrontend(bytes.NewReader(replies[i]), io.Discard)
		if m, err := fe.Receive(); err != nil {
			fmt.Fprintf(&b, "%d: %q", i, replies[i])
		} else {
			_, text := describe(m)
			fmt.Fprintf(&b, "%d: %s", i, text)
		}
		if i == at {
			fmt.Fprintf(&b, "\n    %q", replies[i])
		}
		b.WriteString("\n")
	}
	return b.String()
}
