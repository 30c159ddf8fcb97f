package pipeline_test

import (
	"bytes"
	"context"
	"encoding/binary"
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

// repeating has a Plan that may be prepared for each text.
type repeating struct{ proxytest.Marking }

type repeatable struct{ statements.Plan }

func (repeatable) Prepared() statements.PreparedPlan { return nil }
func (repeatable) Repeatable() bool                  { return true }
func (r repeatable) Repeated() statements.Repeated {
	return statements.Repeated{Plan: r.Plan, Text: r.SQL()}
}

func (r repeating) Rewrite(ctx context.Context, sc statements.Context, text string) statements.Plan {
	return repeatable{r.Marking.Rewrite(ctx, sc, text)}
}

// dialogue plays both peers of a session.
type dialogue struct {
	*testing.T
	flows *pipeline.Flows
}

var ownStatement = regexp.MustCompile(`_mbus4_[A-Z0-9]+`)

// send feeds the client's messages and returns what the server gets of them.
func (d dialogue) send(messages ...pgproto3.FrontendMessage) string {
	d.Helper()
	var in []byte
	for _, m := range messages {
		in, _ = m.Encode(in)
	}
	out := wire.Splicer{Pool: wire.NewBufferPool()}
	var sent []byte
	for len(in) > 0 {
		err := d.flows.Up.Feed(d.Context(), d.flows.Down.Backlog(), in, &out)
		sent = append(sent, out.Result()...)
		d.flows.Down.Expect(&d.flows.Up)
		if in = d.flows.Up.TakeAside(); err != nil && in == nil {
			d.Fatal(err)
		} else if in != nil && bytes.Contains(sent, []byte("pg_backend_pid")) { // the probe query for the process
			row := &pgproto3.DataRow{Values: [][]byte{[]byte("7")}}
			d.reply(&pgproto3.CloseComplete{}, &pgproto3.ParseComplete{}, &pgproto3.BindComplete{}, row,
				&pgproto3.CommandComplete{CommandTag: []byte("SELECT 1")}, &pgproto3.CloseComplete{}, &pgproto3.CloseComplete{}, ready)
			sent = nil
		}
	}
	out.Free()
	var words []string
	for len(sent) > 0 {
		size := 1 + int(binary.BigEndian.Uint32(sent[1:]))
		text := strings.ReplaceAll(string(sent[wire.HeaderSize:size]), proxytest.Marked, "")
		words = append(words, fmt.Sprintf("%c %q", sent[0], ownStatement.ReplaceAllString(text, "ours")))
		sent = sent[size:]
	}
	return strings.Join(words, "\n")
}

// reply feeds the server's messages and returns the types of those that the client gets.
func (d dialogue) reply(messages ...pgproto3.BackendMessage) (types string) {
	d.Helper()
	var in []byte
	for _, m := range messages {
		in, _ = m.Encode(in)
	}
	out := wire.Splicer{Pool: wire.NewBufferPool()}
	if err := d.flows.Down.Feed(in, &out); err != nil {
		d.Fatal(err)
	}
	got := out.Result()
	for ; len(got) > 0; got = got[1+binary.BigEndian.Uint32(got[1:]):] {
		types += string(got[0])
	}
	out.Free()
	return types
}

var (
	ready                                = &pgproto3.ReadyForQuery{TxStatus: 'I'}
	parsed, bound, closed, described, no = &pgproto3.ParseComplete{}, &pgproto3.BindComplete{}, &pgproto3.CloseComplete{}, &pgproto3.ParameterDescription{}, &pgproto3.NoData{}
	ran                                  = &pgproto3.CommandComplete{CommandTag: []byte("SELECT 0")}
)

// TestStandIn shows what the server gets of an unnamed statement that comes again.
func TestStandIn(t *testing.T) {
	d := dialogue{t, new(pipeline.Flows)}
	d.flows.Begin(pipeline.SessionInfo{Rewriter: repeating{}, Settings: wire.Settings{Encoding: "UTF8"}, Txn: 'I', Key: "\x00\x00\x00\x07key!"})
	d.flows.Share(memory.NewLongMessages(0), nil, nil, nil, nil)
	parse, bind, execute, sync := &pgproto3.Parse{Query: "mbus4 $1"}, &pgproto3.Bind{}, &pgproto3.Execute{}, &pgproto3.Sync{}
	describe, other := &pgproto3.Describe{ObjectType: 'S'}, &pgproto3.Parse{Query: "select 1"}
	turn := func(name, want, gets string, messages []pgproto3.FrontendMessage, replies ...pgproto3.BackendMessage) {
		t.Helper()
		if got := d.send(messages...); got != strings.TrimSpace(strings.ReplaceAll(want, "\t", "")) {
			t.Errorf("%s: the server gets\n%s", name, got)
		}
		if got := d.reply(replies...); got != gets {
			t.Errorf("%s: the client gets %s", name, got)
		}
	}
	usual := []pgproto3.FrontendMessage{parse, bind, execute, sync}
	first := `P "\x00mbus4 $1\x00\x00\x00"
		B "\x00\x00\x00\x00\x00\x00\x00\x00"
		E "\x00\x00\x00\x00\x00"
		S ""`
	turn("first", first, "12CZ", usual, parsed, bound, ran, ready)
	turn("second", first, "12CZ", usual, parsed, bound, ran, ready)
	again := `P "\x00\x00\x00\x00"
		B "\x00ours_0\x00\x00\x00\x00\x00\x00\x00"
		E "\x00\x00\x00\x00\x00"
		S ""`
	turn("third", `C "S\x00"
		C "Sours_0\x00"
		P "ours_0\x00mbus4 $1\x00\x00\x00"
		`+again, "12CZ", usual, closed, closed, parsed, parsed, bound, ran, ready)
	turn("fourth", again, "12CZ", usual, parsed, bound, ran, ready)
	turn("described", `P "\x00\x00\x00\x00"
		D "Sours_0\x00"
		S ""`, "1tnZ", []pgproto3.FrontendMessage{parse, describe, sync}, parsed, described, no, ready)
	turn("in the next span, where all is still", `B "ours\x00\x00\x00\x00\x00\x00\x00\x00"
		C "Pours\x00"
		B "\x00ours_0\x00\x00\x00\x00\x00\x00\x00"
		E "\x00\x00\x00\x00\x00"
		D "S\x00"
		C "Sours_u\x00"
		P "ours_u\x00mbus4 $1\x00\x00\x00"
		D "Sours_u\x00"
		B "\x00ours_u\x00\x00\x00\x00\x00\x00\x00"
		S ""`, "2Ctn2Z", []pgproto3.FrontendMessage{bind, execute, describe, bind, sync},
		bound, closed, bound, ran, described, no, closed, parsed, described, no, bound, ready)
	turn("another", `P "\x00select 1\x00\x00\x00"
		B "\x00\x00\x00\x00\x00\x00\x00\x00"
		S ""`, "12Z", []pgproto3.FrontendMessage{other, bind, sync}, parsed, bound, ready)
	turn("another stays", `B "\x00\x00\x00\x00\x00\x00\x00\x00"
		S ""`, "2Z", []pgproto3.FrontendMessage{bind, sync}, bound, ready)
}
