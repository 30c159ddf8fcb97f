package wire

import (
	"fmt"
	"strings"
	"testing"
)

// answers tells what an Inspector does with each type of message.
type answers map[byte]int

func (a answers) Wants(typ byte, _ int) int { return a[typ] }

// told is what a Tally says.
func told(t *Tally, fromServer bool) string {
	var sum MessageCounts
	t.AddTo(&sum)
	var out []string
	sum.Each(fromServer, func(name string, n uint64) { out = append(out, fmt.Sprint(name, " ", n)) })
	return strings.Join(out, ", ")
}

// TestTally counts messages that pass, are dropped, gathered and skipped in runs, with cuts at every place.
func TestTally(t *testing.T) {
	var stream []byte
	for _, typ := range "TDDDDDCZ12DD~qZ" {
		stream = AppendFrame(stream, byte(typ), []byte("body"))
	}
	want := "CommandComplete 1, DataRow 7, ParseComplete 1, BindComplete 1, RowDescription 1, ReadyForQuery 2, other 2"
	for cut := range len(stream) {
		f, out := Framer{}, Splicer{Pool: NewBufferPool()}
		in := answers{'D': PassRun, 'C': HeaderSize + 4, 'Z': Drop}
		rest := stream
		for _, n := range []int{cut, len(stream) - cut} {
			buf := make([]byte, HeaderSize+n)
			k := f.Prefill(buf)
			k += copy(buf[k:], rest[:n])
			rest = rest[n:]
			buf = buf[:k]
			out.Begin(buf)
			for pos := 0; pos < len(buf); {
				frame, at, err := f.Next(buf, pos, &out, in)
				if err != nil {
					t.Fatal(err)
				}
				if pos = at; frame != nil {
					f.Keep(&out, frame, pos)
				}
			}
			out.Free()
		}
		if got := told(&f.Tally, true); got != want {
			t.Fatalf("cut at %d: %s\nwant %s", cut, got, want)
		}
	}
}

// TestTallySetAside counts a message that is set aside once, when it is walked again.
func TestTallySetAside(t *testing.T) {
	f, out := Framer{}, Splicer{Pool: NewBufferPool()}
	buf := AppendFrame(AppendFrame(nil, MsgQuery, []byte("select 1\x00")), MsgSync)
	in := answers{MsgQuery: HeaderSize + 9}
	for range 2 {
		out.Begin(buf)
		frame, pos, err := f.Next(buf, 0, &out, in)
		if err != nil || frame == nil {
			t.Fatal(frame, err)
		}
		buf = f.SetAside(buf, frame, pos, &out)
		if got := told(&f.Tally, false); got != "" {
			t.Fatal(got)
		}
	}
	out.Begin(buf)
	_, pos, _ := f.Next(buf, 0, &out, in)
	_, _, _ = f.Next(buf, pos, &out, in)
	if got := told(&f.Tally, false); got != "Query 1, Sync 1" {
		t.Fatal(got)
	}
}

// A counter goes round, and back.
func TestTallyGoesRound(t *testing.T) {
	t.Parallel()
	var y Tally
	y.counts[slots['d']].Store(1<<32 - 2)
	count := func() uint64 {
		var sum MessageCounts
		y.AddTo(&sum)
		return sum[slots['d']]
	}
	for i, n := range []int{3, -1, -1, 1, 1} {
		if y.add('d', n); count() != []uint64{1<<32 + 1, 1 << 32, 1<<32 - 1, 1 << 32, 1<<32 + 1}[i] {
			t.Errorf("%d after step %d", count(), i)
		}
	}
}
