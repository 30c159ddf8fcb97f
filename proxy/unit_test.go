package proxy

import (
	"bytes"
	"context"
	"fmt"
	"sync/atomic"
	"testing"

	"github.com/jackc/pgx/v5/pgproto3"
)

func TestReplicationParameter(t *testing.T) {
	for value, want := range map[string]bool{
		"database": true, "true": true, "on": true, "1": true, "YES": true, "t": true, "y": true, "tru": true,
		"": false, "false": false, "off": false, "0": false, "no": false, "trueish": false, "o": false,
	} {
		if got := replicates(value); got != want {
			t.Errorf("%q: got %t", value, got)
		}
	}
}

// TestEncodeReport: fields keep their order, unknown ones their bytes.
func TestEncodeReport(t *testing.T) {
	frame := appendFrame(nil, 'E', []byte("SFEHLER\x00VERROR\x00C42P01\x00zunknown \xff\x00Mold\x00P77\x00Hgoes\x00Fparse.c\x00\x00"))
	var before pgproto3.ErrorResponse
	if err := before.Decode(frame[headerSize:]); err != nil {
		t.Fatal(err)
	}
	after := before
	after.Message, after.Position, after.Hint, after.Detail = "new", 5, "", "added\x00x"
	got := encodeReport(frame, &before, &after)
	want := appendFrame(nil, 'E', []byte("SFEHLER\x00VERROR\x00C42P01\x00zunknown \xff\x00Mnew\x00P5\x00Fparse.c\x00Dadded x\x00\x00"))
	if !bytes.Equal(got, want) {
		t.Errorf("got  %q\nwant %q", got, want)
	}
}

// stream feeds input to a clientFlow in pieces of the given size and returns what it puts out.
func stream(f *clientFlow, input []byte, piece int) ([]byte, error) {
	out := assembly{pool: newBufferPool()}
	var all []byte
	buf := make([]byte, headerSize+piece)
	for len(input) > 0 {
		off := f.prefill(buf)
		n := copy(buf[off:off+piece], input)
		input = input[n:]
		err := f.feed(context.Background(), f.before, buf[:off+n], &out)
		all = append(all, out.result()...)
		out.free()
		if err != nil {
			return all, err
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

func newFlow() *clientFlow {
	return &clientFlow{rewriter: marking{}, settings: someSettings()}
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
				m.Query = marked + m.Query
			}
		case *pgproto3.Query:
			if m.String != "select 1" {
				m.String = marked + m.String
			}
		}
		if want, err = m.Encode(want); err != nil {
			t.Fatal(err)
		}
	}
	return input, want
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
	s := new(session)
	flow := newFlow()
	back := serverFlow{rewriter: marking{}, settings: &s.settings}
	out := assembly{pool: newBufferPool()}
	ctx := context.Background()
	b.ReportAllocs()
	for b.Loop() {
		if err := flow.feed(ctx, flow.before, up, &out); err != nil {
			b.Fatal(err)
		}
		back.expect(flow)
		if err := back.feed(down, &out); err != nil {
			b.Fatal(err)
		}
	}
}

// TestPassThroughAllocatesNothing holds what BenchmarkPassThrough measures.
func TestPassThroughAllocatesNothing(t *testing.T) {
	query := appendFrame(nil, msgQuery, []byte("select 1\x00"))
	reply := []byte("D\x00\x00\x00\x06\x00\x00C\x00\x00\x00\x0dSELECT 1\x00Z\x00\x00\x00\x05I")
	s := new(session)
	flow := newFlow()
	back := serverFlow{rewriter: marking{}, settings: &s.settings}
	out := assembly{pool: newBufferPool()}
	n := testing.AllocsPerRun(100, func() {
		if err := flow.feed(context.Background(), flow.before, query, &out); err != nil {
			t.Fatal(err)
		}
		back.expect(flow)
		if err := back.feed(reply, &out); err != nil {
			t.Fatal(err)
		}
	})
	if n > 0 {
		t.Errorf("%v allocations for a query", n)
	}
}

func TestAssembly(t *testing.T) {
	a := assembly{pool: newBufferPool()}
	in := []byte("0123456789")
	for _, c := range []struct {
		do   func()
		want string
	}{
		{func() {}, "0123456789"},
		{func() { a.truncate(4) }, "0123"},
		{func() { a.replace(0, 3, nil) }, "3456789"},
		{func() { a.replace(2, 4, []byte("xyz")) }, "01xyz456789"},
		{func() { a.replace(2, 4, []byte("x")); a.replace(8, 10, []byte("y")) }, "01x4567y"},
		{func() { a.replace(0, 4, []byte("x")); a.truncate(6) }, "x45"},
		{func() { a.replace(0, 10, nil) }, ""},
		{func() { a.replace(0, 4, []byte("x")); a.truncate(4) }, "x"},
	} {
		a.begin(in)
		c.do()
		if got := string(a.result()); got != c.want {
			t.Errorf("got %q, want %q", got, c.want)
		}
		a.free()
	}
}

func FuzzStartupPacket(f *testing.F) {
	f.Add(packet(3<<16, "user\x00postgres\x00\x00"))
	f.Add(packet(codeCancel, "12345678"))
	f.Add([]byte(sslRequest))
	f.Add(packet(3<<16|2, "user\x00a\x00database\x00b\x00replication\x00on\x00\x00"))
	f.Fuzz(func(t *testing.T, in []byte) {
		r := bytes.NewReader(in)
		p, err := readStartupPacket(r)
		if err != nil {
			return
		}
		if len(p) > maxStartupPacket || !bytes.HasPrefix(in, p) || r.Len() != len(in)-len(p) {
			t.Fatalf("read %d bytes, %d are left of %d", len(p), r.Len(), len(in))
		}
		_, _ = parseParameters(p)
	})
}

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
		if !bytes.Equal(whole, parts) || (werr == nil) != (perr == nil) {
			t.Fatalf("in one piece %q, %v\nin pieces of %d %q, %v", whole, werr, piece, parts, perr)
		}
		plain := newFlow()
		plain.rewriter = nil
		if got, err := stream(plain, in, piece); err != nil || !bytes.HasPrefix(in, got) {
			t.Fatalf("changed to %q, %v", got, err)
		}
	})
}

// FuzzServerFrames: no reply brings the tracker down, and nothing is put out that did not come.
func FuzzServerFrames(f *testing.F) {
	f.Add([]byte("QPBDESFcCS"), []byte("1\x00\x00\x00\x04E\x00\x00\x00\x0bSERROR\x00\x00Z\x00\x00\x00\x05I"))
	f.Add([]byte("ESSScS"), []byte("G\x00\x00\x00\x04E\x00\x00\x00\x0bSERROR\x00\x00Z\x00\x00\x00\x05I"))
	kinds := map[byte]replyKind{
		'Q': owedQuery, 'F': owedFunctionCall, 'P': owedParse, 'B': owedBind, 'D': owedDescribe,
		'E': owedExecute, 'C': owedClose, 'S': owedSync, 'c': copyEnd,
	}
	f.Fuzz(func(t *testing.T, owing, replies []byte) {
		flow := serverFlow{rewriter: marking{}, settings: someSettings()}
		for _, c := range owing {
			if kind, ok := kinds[c]; ok {
				flow.queueUp([]owed{{kind: kind}})
			}
		}
		out := assembly{pool: newBufferPool()}
		err := flow.feed(replies, &out)
		if got := out.result(); !bytes.HasPrefix(replies, got) {
			t.Fatalf("changed to %q, %v", got, err)
		}
		if len(flow.more) > maxReadings {
			t.Fatalf("%d readings", len(flow.more))
		}
		_ = fmt.Sprint(err)
	})
}

func someSettings() *atomic.Pointer[settings] {
	var p atomic.Pointer[settings]
	p.Store(&settings{encoding: "UTF8"})
	return &p
}

func TestSettings(t *testing.T) {
	s := &settings{encoding: "UTF8"}
	for _, step := range []struct{ name, value string }{
		{"client_encoding", "LATIN1"}, {"TimeZone", "UTC"}, {"standard_conforming_strings", "off"},
	} {
		s = s.with([]byte(step.name + "\x00" + step.value + "\x00"))
	}
	for _, c := range [][3]string{
		{"UTF8", "UTF8", "UTF8"}, {"LATIN1", "UTF8", "LATIN1"}, {"SQL_ASCII", "UTF8", "UTF8"}, {"UTF8", "SQL_ASCII", "SQL_ASCII"}, {"SQL_ASCII", "", "SQL_ASCII"},
	} {
		if got := (&settings{encoding: c[0], server: c[1]}).textEncoding(); got != c[2] {
			t.Errorf("client %s, server %s: %s", c[0], c[1], got)
		}
	}
	if *s != (settings{encoding: "LATIN1", escapeStrings: true}) {
		t.Errorf("got %+v", *s)
	}
	if got := s.with([]byte("client_encoding")); got != s {
		t.Errorf("a broken report changes %+v", *got)
	}
}

func TestVoidParams(t *testing.T) {
	types := []byte{0, 3, 0, 0, 8, 230, 0, 0, 0, 25, 0, 0, 8, 230} // void, text, void
	if got := voidParams(types); len(got) != 2 || got[0] != 1 || got[1] != 3 {
		t.Errorf("got %v", got)
	}
	if got := voidParams(types[:8]); len(got) != 1 {
		t.Errorf("of a short message: %v", got)
	}
	if got := voidParams(nil); got != nil {
		t.Errorf("of none: %v", got)
	}
}
