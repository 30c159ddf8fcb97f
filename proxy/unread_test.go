package proxy

import (
	"encoding/binary"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgproto3"

	"mbusproxy/proxy/internal/proxytest"
	"mbusproxy/proxy/memory"
	"mbusproxy/proxy/wire"
)

// unfinished sends all of a message with a text of that size but its end, which it returns.
func unfinished(t *testing.T, w *wireClient, typ byte, head string, size int, tail string) (rest []byte) {
	t.Helper()
	name := ""
	if typ == wire.MsgParse {
		name, tail = "\x00", tail+"\x00\x00"
	}
	body := name + head + strings.Repeat("z", size-len(head)-len(tail)) + tail + "\x00"
	m := binary.BigEndian.AppendUint32([]byte{typ}, uint32(4+len(body)))
	m = append(m, body...)
	cut := len(m) - 1000
	w.write(m[:cut])
	return slices.Clone(m[cut:])
}

// TestUnfinishedTexts: clients that never end a message take a bounded memory all together, and do not keep
// others from having theirs looked at for ever.
func TestUnfinishedTexts(t *testing.T) {
	const sessions, size = 30, 2 << 20
	eachWay(t, func(t *testing.T, way how) {
		p := start(t, way, func(c *Config) { c.Rewriter = proxytest.Marking{} })
		var late atomic.Int64
		begun := time.Now() // on a machine that is busy nothing is to become old by itself
		p.sessions.Long.SetClock(func() time.Time { return begun.Add(time.Duration(late.Load())) })
		bystander := login(t, p.addr)
		before := heap()
		attackers, rests := make([]*wireClient, sessions), make([][]byte, sessions)
		for i := range attackers {
			attackers[i] = login(t, p.addr)
			_ = attackers[i].conn.SetDeadline(time.Now().Add(3 * proxytest.Patience))
			rests[i] = unfinished(t, attackers[i], []byte{wire.MsgQuery, wire.MsgParse}[i%2], "select /*mbus4*/ length('", size, "')")
		}
		const share = memory.LongMessagesTotal / 2 // of one role
		free := func() int { return p.sessions.Long.Unused() - share }
		proxytest.Eventually(t, "the memory is taken", func() bool { return free() < size })
		proxytest.Eventually(t, "little is kept", func() bool { return heap()-before < 2*memory.LongMessagesTotal+sessions*4*wire.MaxNames })
		if got := bystander.query("select 'there' /*mbus4*/"); !strings.Contains(got, "there") {
			t.Error(got)
		}
		// A long text is not looked at now; while sessions that got no more give back what they had, it may be.
		missing := func(n int) string { return "select mbus4.nothing('" + strings.Repeat("y", n) + "')" }
		const tooMuch = 2 * memory.LongMessageStep // the end of a text, as much as one read gives, takes none of that memory
		left := 0
		proxytest.Eventually(t, "a long text is not looked at", func() bool {
			left = free()
			return strings.Contains(bystander.query(missing(left+tooMuch)), "ERROR 54000")
		})
		// And it is once what others have begun is old.
		late.Store(int64(2 * memory.LongMessageStale))
		bystander.query(missing(left + tooMuch))
		proxytest.Eventually(t, "memory is given back", func() bool { return free() > left+memory.LongMessageStep })
		if got := bystander.query("select 1/0, mbus4 " + strings.Repeat(" ", left/2)); !strings.Contains(got, "at 15") && !strings.Contains(got, "42703") {
			t.Errorf("%.300s", got)
		}
		for i, w := range attackers {
			w.write(rests[i])
			if i%2 == 0 {
				if got := w.until('Z'); !strings.Contains(got, "SELECT 1") {
					t.Errorf("%.300s", got)
				}
				continue
			}
			w.send(proxytest.Bind("", ""), proxytest.Execute(""), proxytest.Sync())
			if got := w.until('Z'); !strings.Contains(got, "SELECT 1") {
				t.Errorf("%.300s", got)
			}
		}
		proxytest.Eventually(t, "all memory is given back", func() bool { return free() == share })
	})
}

// TestTooLongToBeLookedAt: the client hears why a call in a text that was not looked at is not there.
func TestTooLongToBeLookedAt(t *testing.T) {
	long := strings.Repeat(" ", wire.MaxText)
	eachWay(t, func(t *testing.T, way how) {
		p := start(t, way, func(c *Config) { c.Rewriter = proxytest.Marking{} })
		w := login(t, p.addr)
		for _, text := range []string{"select mbus4.nothing()", "select * from mbus4.nothing", "select * from mbus4.nothing()"} {
			for _, m := range [][]pgproto3.FrontendMessage{proxytest.Messages(proxytest.Query(long + text)), proxytest.Messages(proxytest.Parse("", long+text), proxytest.Sync())} {
				w.send(m...)
				if got := w.until('Z'); !strings.Contains(got, "ERROR 54000") || !strings.Contains(got, "not exist") {
					t.Errorf("%s: %.300s", text, got)
				}
			}
		}
		if got := w.query(long + "select nothing()"); !strings.Contains(got, "ERROR 42883") {
			t.Errorf("what is none of ours: %.300s", got)
		}
		if got := w.query("select mbus4.nothing()"); !strings.Contains(got, "ERROR 3F000") {
			t.Errorf("what was looked at: %.300s", got)
		}
	})
}

// TestNamesInTextsNotLookedAt: what a text that was not looked at may have done to the names of late statements is
// not guessed.
func TestNamesInTextsNotLookedAt(t *testing.T) {
	long := "/*" + strings.Repeat("z", wire.MaxText) + "*/"
	x := func(want string, m ...pgproto3.FrontendMessage) exchange { return exchange{send: m, want: want} }
	refused := func(what, name string) string {
		line := errorLine("54000", fmt.Sprintf("%s \"%s\" may have been replaced in a text that was too long to be read", what, name))
		return strings.TrimSuffix(line, "\n") + " hint \"Parse the statement again under a name that is free.\"\n"
	}
	first := x(parsed+bound+ran(1)+idle, proxytest.Parse("s", proxytest.LateText), proxytest.Bind("", "s"), proxytest.Execute(""), proxytest.Sync())
	cases := map[string][]exchange{
		"nothing to do with names": {
			first, x("EmptyQueryResponse\n"+idle, proxytest.Query(long)),
			x(bound+ran(2)+idle, proxytest.Bind("", "s"), proxytest.Execute(""), proxytest.Sync()),
		},
		"a Query": {
			first, x("CommandComplete DEALLOCATE\nCommandComplete PREPARE\n"+idle, proxytest.Query(long+"deallocate s; prepare s as select 1")),
			x(refused("prepared statement", "s")+idle, proxytest.Bind("", "s"), proxytest.Execute(""), proxytest.Sync()),
			x(parsed+bound+ran(2)+idle, proxytest.Parse("", proxytest.LateText), proxytest.Bind("", ""), proxytest.Execute(""), proxytest.Sync()),
			x(parsed+bound+ran(3)+idle, proxytest.Parse("t", proxytest.LateText), proxytest.Bind("", "t"), proxytest.Execute(""), proxytest.Sync()),
			x("CommandComplete DEALLOCATE\n"+idle+parsed+bound+ran(4)+idle, proxytest.Query("deallocate s"), proxytest.Parse("s", proxytest.LateText), proxytest.Bind("", "s"), proxytest.Execute(""), proxytest.Sync()),
		},
		"a Parse": {
			first, x(parsed+idle, proxytest.Parse("p", long+"deallocate s"), proxytest.Sync()),
			x(bound+ran(2)+idle, proxytest.Bind("", "s"), proxytest.Execute(""), proxytest.Sync()), // not executed
			x(bound+"CommandComplete DEALLOCATE\n"+idle, proxytest.Bind("", "p"), proxytest.Execute(""), proxytest.Sync()),
			x(refused("prepared statement", "s")+idle, proxytest.Bind("", "s"), proxytest.Execute(""), proxytest.Sync()),
		},
		"a Parse of the name": {
			first, x("CloseComplete\n"+parsed+bound+"CommandComplete SELECT 0\n"+idle,
				&pgproto3.Close{ObjectType: 'S', Name: "s"}, proxytest.Parse("s", "select from items where id = -1"+long), proxytest.Bind("", "s"), proxytest.Execute(""), proxytest.Sync()),
		},
		"a cursor": {
			first, x(begun+bound+inTx, proxytest.Query("begin"), proxytest.Bind("c", "s"), proxytest.Sync()),
			x("CommandComplete CLOSE CURSOR\nCommandComplete DECLARE CURSOR\n"+inTx, proxytest.Query(long+"close c; declare c cursor for select 1")),
			x(refused("portal", "c")+failed, proxytest.Execute("c"), proxytest.Sync()),
		},
	}
	eachWay(t, func(t *testing.T, way how) {
		p := start(t, way, func(c *Config) { c.Rewriter = new(proxytest.Stepping) })
		for name, exchanges := range cases {
			t.Run(name, func(t *testing.T) { playSteps(t, login(t, p.addr), exchanges, false) })
		}
	})
}
