package pipeline_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"regexp"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5/pgproto3"

	"mbusproxy/proxy/internal/proxytest"
	"mbusproxy/proxy/memory"
	"mbusproxy/proxy/pipeline"
	"mbusproxy/proxy/statements"
	"mbusproxy/proxy/wire"
)

// stream feeds input to a ClientFlow in pieces of the given size and returns what it puts out.
func stream(f *pipeline.ClientFlow, input []byte, piece int) ([]byte, error) {
	out := wire.Splicer{Pool: wire.NewBufferPool()}
	var all []byte
	buf := make([]byte, wire.HeaderSize+piece)
	for len(input) > 0 {
		off := f.Prefill(buf)
		n := copy(buf[off:off+piece], input)
		input = input[n:]
		// A Query is outstanding, whatever piece it came in.
		for batch := buf[:off+n]; batch != nil; batch = f.TakeAside() {
			err := f.Feed(context.Background(), pipeline.Backlog{Outstanding: 1, Flushing: 1}, batch, &out)
			all = append(all, out.Result()...)
			out.Free()
			if err != nil && !errors.Is(err, pipeline.ErrEnough) {
				return all, err
			}
		}
	}
	return all, nil
}

// TestPiecesMakeNoDifference: where a stream is cut into reads does not show.
func TestPiecesMakeNoDifference(t *testing.T) {
	input, want := sample(t)
	for piece := 1; piece < len(input)+2; piece++ {
		got, err := stream(newFlow(), input, piece)
		if err != nil || !bytes.Equal(got, want) {
			t.Fatalf("in pieces of %d: %v\ngot  %q\nwant %q", piece, err, got, want)
		}
	}
}

func newFlow() *pipeline.ClientFlow { return &newFlows(proxytest.Marking{}).Up }

func newFlows(r statements.Rewriter) *pipeline.Flows {
	f := new(pipeline.Flows)
	f.Begin(pipeline.SessionInfo{Rewriter: r, Database: "postgres", Settings: wire.Settings{Encoding: "UTF8"}, Txn: 'I'})
	return f
}

func sample(t testing.TB) (input, want []byte) {
	t.Helper()
	for _, m := range []pgproto3.FrontendMessage{
		&pgproto3.Parse{Name: "a", Query: "select $1", ParameterOIDs: []uint32{23}},
		&pgproto3.Parse{Name: "b", Query: "select mbus4.x($1)", ParameterOIDs: []uint32{23, 25}},
		&pgproto3.Bind{DestinationPortal: "p", PreparedStatement: "b", Parameters: [][]byte{bytes.Repeat([]byte("v"), 300)}},
		&pgproto3.Sync{}, &pgproto3.Query{String: "select mbus4.y()"}, &pgproto3.Query{String: "select 1"},
		&pgproto3.CopyData{Data: bytes.Repeat([]byte("d"), 100)}, &pgproto3.Close{ObjectType: 'S', Name: "b"},
		&pgproto3.Query{String: "mbus4"}, &pgproto3.Terminate{},
	} {
		var err error
		if input, err = m.Encode(input); err != nil {
			t.Fatal(err)
		}
		switch m := m.(type) {
		case *pgproto3.Parse:
			if m.Name == "b" {
				m.Query = proxytest.Marked + m.Query
			}
		case *pgproto3.Query:
			if m.String != "select 1" {
				m.String = proxytest.Marked + m.String
			}
		}
		if want, err = m.Encode(want); err != nil {
			t.Fatal(err)
		}
	}
	return input, want
}

// However many statements for the Rewriter come at a time, a feed deals with some, and nothing is lost of the rest.
func TestFeedHasEnough(t *testing.T) {
	t.Parallel()
	t.Run("short texts", func(t *testing.T) { feedTexts(t, "", 1000, 16) })
	t.Run("longer texts", func(t *testing.T) { feedTexts(t, strings.Repeat(" ", 640), 1000, 167) })
}

// feedTexts has a pipeline of n statements fed, which are what their text is with tail, and wants it to be done in as many feeds.
func feedTexts(t *testing.T, tail string, n, wanted int) {
	var in, want []byte
	for n := range n {
		m := &pgproto3.Parse{Name: fmt.Sprint("s", n), Query: "select mbus4.x()" + tail}
		in, _ = m.Encode(in)
		m.Query = proxytest.Marked + m.Query
		want, _ = m.Encode(want)
	}
	both := newFlows(proxytest.Marking{})
	out := wire.Splicer{Pool: wire.NewBufferPool()}
	var got []byte
	feeds := 0
	for rest := in; len(rest) > 0; rest = both.Up.TakeAside() {
		feeds++
		if err := both.Up.Feed(t.Context(), pipeline.Backlog{}, rest, &out); err != nil && !errors.Is(err, pipeline.ErrEnough) {
			t.Fatal(err)
		}
		got = append(got, out.Result()...)
		out.Free()
	}
	if !bytes.Equal(got, want) {
		t.Errorf("%d bytes came out, not the %d expected ones", len(got), len(want))
	}
	if feeds != wanted {
		t.Errorf("%d statements are taken in %d feeds, not in %d", n, feeds, wanted)
	}
}

func BenchmarkPassThrough(b *testing.B) {
	var up []byte
	for _, m := range []pgproto3.FrontendMessage{
		&pgproto3.Bind{PreparedStatement: "P0_1", Parameters: [][]byte{[]byte("123456")}},
		&pgproto3.Describe{ObjectType: 'P'}, &pgproto3.Execute{}, &pgproto3.Sync{},
	} {
		up, _ = m.Encode(up)
	}
	var down []byte
	for _, m := range []pgproto3.BackendMessage{
		&pgproto3.BindComplete{}, &pgproto3.RowDescription{Fields: []pgproto3.FieldDescription{{Name: []byte("abalance"), DataTypeOID: 23}}},
		&pgproto3.DataRow{Values: [][]byte{[]byte("0")}}, &pgproto3.CommandComplete{CommandTag: []byte("SELECT 1")}, &pgproto3.ReadyForQuery{TxStatus: 'I'},
	} {
		down, _ = m.Encode(down)
	}
	both := newFlows(proxytest.Marking{})
	flow, back := &both.Up, &both.Down
	out := wire.Splicer{Pool: wire.NewBufferPool()}
	ctx := context.Background()
	b.ReportAllocs()
	for b.Loop() {
		if err := flow.Feed(ctx, pipeline.Backlog{}, up, &out); err != nil {
			b.Fatal(err)
		}
		back.Expect(flow)
		if err := back.Feed(down, &out); err != nil {
			b.Fatal(err)
		}
	}
}

// TestPassThroughAllocatesNothing holds what BenchmarkPassThrough measures.
func TestPassThroughAllocatesNothing(t *testing.T) {
	query := wire.AppendFrame(nil, wire.MsgQuery, []byte("select 1\x00"))
	reply := []byte("D\x00\x00\x00\x06\x00\x00C\x00\x00\x00\x0dSELECT 1\x00Z\x00\x00\x00\x05I")
	both := newFlows(proxytest.Marking{})
	flow, back := &both.Up, &both.Down
	out := wire.Splicer{Pool: wire.NewBufferPool()}
	n := testing.AllocsPerRun(100, func() {
		if err := flow.Feed(context.Background(), pipeline.Backlog{}, query, &out); err != nil {
			t.Fatal(err)
		}
		back.Expect(flow)
		if err := back.Feed(reply, &out); err != nil {
			t.Fatal(err)
		}
	})
	if n > 0 {
		t.Errorf("%v allocations for a query", n)
	}
}

// ours are names of statements of ours, and as random.
var ours = regexp.MustCompile("_mbus4_[A-Z2-7]{26}") //nolint:gochecknoglobals // a constant

// FuzzClientFrames: pieces make no difference, also for garbage, and without plans nothing changes.
func FuzzClientFrames(f *testing.F) {
	input, _ := sample(f)
	f.Add(input, 7)
	f.Add([]byte("Q\x00\x00\x00\x04"), 1)
	f.Add([]byte("P\x00\x00\x00\x0bambus4\x00\x00"), 3)
	f.Fuzz(func(t *testing.T, in []byte, piece int) {
		piece = 1 + (piece&0x7fffffff)%(len(in)+1)
		whole, werr := stream(newFlow(), in, len(in)+1)
		parts, perr := stream(newFlow(), in, piece)
		whole, parts = ours.ReplaceAll(whole, []byte("own name")), ours.ReplaceAll(parts, []byte("own name"))
		if !bytes.Equal(whole, parts) || (werr == nil) != (perr == nil) {
			t.Fatalf("in one piece %q, %v\nin pieces of %d %q, %v", whole, werr, piece, parts, perr)
		}
		if got, err := stream(&newFlows(nil).Up, in, piece); err != nil || !bytes.HasPrefix(in, got) {
			t.Fatalf("changed to %q, %v", got, err)
		}
	})
}

// TestStepPieces: where the stream is cut into reads does not show, also around the Bind of a bind-time plan.
func TestStepPieces(t *testing.T) {
	var input []byte
	for _, m := range proxytest.Messages(proxytest.Parse("s", proxytest.LateText),
		&pgproto3.Bind{PreparedStatement: "s", Parameters: [][]byte{bytes.Repeat([]byte("v"), 300)}}, proxytest.Execute(""), proxytest.Execute(""), proxytest.Sync()) {
		input, _ = m.Encode(input)
	}
	played := func(piece int) ([]byte, error) {
		got, err := stream(&newFlows(new(proxytest.Stepping)).Up, input, piece)
		return ours.ReplaceAll(got, []byte("own name")), err
	}
	want, err := played(len(input))
	if err != nil || bytes.Count(want, []byte("own name")) != 7 {
		t.Fatalf("%v: %q", err, want)
	}
	for piece := 1; piece < len(input); piece++ {
		if got, err := played(piece); err != nil || !bytes.Equal(got, want) {
			t.Fatalf("in pieces of %d: %v\ngot  %q\nwant %q", piece, err, got, want)
		}
	}
	// A Bind of which only the head is buffered at first.
	big := &pgproto3.Bind{PreparedStatement: "s", Parameters: [][]byte{bytes.Repeat([]byte("v"), 3*wire.MaxNames)}}
	input, _ = (&pgproto3.Parse{Name: "s", Query: proxytest.LateText}).Encode(nil)
	input, _ = big.Encode(input)
	input, _ = (&pgproto3.Sync{}).Encode(input)
	for _, piece := range []int{len(input), 1000, wire.MaxNames, wire.MaxNames + 100, 2 * wire.MaxNames} {
		if got, err := played(piece); err != nil || !bytes.Equal(got, input) {
			t.Fatalf("in pieces of %d: %v, %d bytes of %d", piece, err, len(got), len(input))
		}
	}
}

// TestPiecesWithoutMemory: what is not buffered for want of memory passes as it came, wherever the stream is cut.
func TestPiecesWithoutMemory(t *testing.T) {
	long := strings.Repeat("z", 3*wire.MaxNames)
	input := proxytest.Encoded(t, proxytest.Parse("s", proxytest.LateText), proxytest.Query("select 1 /*hide 0*/"+long), proxytest.Parse("t", long+proxytest.LateText), proxytest.Query(long),
		&pgproto3.Bind{PreparedStatement: "s", Parameters: [][]byte{[]byte(long)}}, proxytest.Sync(), proxytest.Query("select 'end'"))
	for _, piece := range []int{len(input), 999, 16 << 10, wire.MaxNames, wire.MaxNames + 7, 64 << 10} {
		r := new(proxytest.Stepping)
		f := newFlows(r)
		f.Share(memory.NewLongMessages(0), nil, nil, nil, nil)
		got, err := stream(&f.Up, input, piece)
		if err != nil || string(got) != string(input) {
			t.Errorf("in pieces of %d: %v, %d bytes of %d", piece, err, len(got), len(input))
		}
		if piece < len(input) && len(r.Asked) != 1 {
			t.Errorf("in pieces of %d: %q was asked", piece, r.Asked)
		}
	}
}
