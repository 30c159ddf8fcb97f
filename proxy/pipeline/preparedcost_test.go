package pipeline_test

import (
	"bytes"
	"encoding/binary"
	"testing"

	"github.com/jackc/pgx/v5/pgproto3"

	"mbusproxy/proxy/internal/proxytest"
	"mbusproxy/proxy/memory"
	"mbusproxy/proxy/pipeline"
	"mbusproxy/proxy/wire"
)

// BenchmarkPrepared is what a call costs that a prepared statement runs: a Query, and an unnamed statement.
func BenchmarkPrepared(b *testing.B) {
	parse, sync := &pgproto3.Parse{Query: proxytest.PreparingMark + "$1"}, &pgproto3.Sync{}
	reply := []pgproto3.BackendMessage{closed, bound, no, ran, closed, ready}
	for name, c := range map[string]struct {
		messages []pgproto3.FrontendMessage
		reply    []pgproto3.BackendMessage
	}{
		"Query":   {[]pgproto3.FrontendMessage{&pgproto3.Query{String: proxytest.PreparingMark}}, reply},
		"unnamed": {[]pgproto3.FrontendMessage{parse, &pgproto3.Bind{}, &pgproto3.Describe{ObjectType: 'P'}, &pgproto3.Execute{}, sync}, []pgproto3.BackendMessage{parsed, bound, no, ran, ready}},
	} {
		b.Run(name, func(b *testing.B) {
			flows := new(pipeline.Flows)
			flows.Begin(pipeline.SessionInfo{Rewriter: proxytest.Preparing{AtOnce: true}, Settings: wire.Settings{Encoding: "UTF8"}, Txn: 'I', Key: "\x00\x00\x00\x07key!"})
			flows.Share(memory.NewLongMessages(0), nil, nil, nil, nil)
			var up, down []byte
			for _, m := range c.messages {
				up, _ = m.Encode(up)
			}
			for _, m := range c.reply {
				down, _ = m.Encode(down)
			}
			d := dialogue{nil, flows}
			d.first(b, up)
			flows.Up.Nonblocking = true
			out := wire.Splicer{Pool: wire.NewBufferPool()}
			b.ReportAllocs()
			for b.Loop() {
				if err := flows.Up.Feed(nil, flows.Down.Backlog(), up, &out); err != nil { //nolint:staticcheck // nothing is called with it
					b.Fatal(err)
				}
				out.Free()
				flows.Down.Expect(&flows.Up)
				if err := flows.Down.Feed(down, &out); err != nil {
					b.Fatal(err)
				}
				out.Free()
			}
		})
	}
}

// first sends the messages until a statement has been prepared, and answers what comes of them.
func (d dialogue) first(b *testing.B, up []byte) {
	out := wire.Splicer{Pool: wire.NewBufferPool()}
	for range 5 {
		for in := up; in != nil; in = d.flows.Up.TakeAside() {
			_ = d.flows.Up.Feed(b.Context(), d.flows.Down.Backlog(), in, &out)
			sent := bytes.Clone(out.Result())
			out.Free()
			d.flows.Down.Expect(&d.flows.Up)
			var replies []byte
			probes := bytes.Contains(sent, []byte("pg_backend_pid"))
			for ; len(sent) > 0; sent = sent[1+binary.BigEndian.Uint32(sent[1:]):] {
				typ := sent[0]
				if (typ == 'E' || typ == 'Q') && probes {
					replies, _ = (&pgproto3.DataRow{Values: [][]byte{[]byte("7")}}).Encode(replies)
				}
				for _, m := range map[byte][]pgproto3.BackendMessage{'Q': {ran, ready}, 'P': {parsed}, 'B': {bound}, 'D': {no}, 'E': {ran}, 'C': {closed}, 'S': {ready}}[typ] {
					replies, _ = m.Encode(replies)
				}
			}
			if err := d.flows.Down.Feed(replies, &out); err != nil {
				b.Fatal(err)
			}
			out.Free()
		}
	}
}
