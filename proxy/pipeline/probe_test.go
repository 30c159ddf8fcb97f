package pipeline_test

import (
	"errors"
	"testing"

	"github.com/jackc/pgx/v5/pgproto3"

	"mbusproxy/proxy/internal/proxytest"
	"mbusproxy/proxy/memory"
	"mbusproxy/proxy/pipeline"
	"mbusproxy/proxy/wire"
)

// TestProbeMakesServerSkip: where the probe query for a Query fails in a failed transaction behind
// messages without a Sync, the server is sent a Sync and then the Query, although it is known by
// then that the server skips what it gets.
func TestProbeMakesServerSkip(t *testing.T) {
	d := dialogue{t, new(pipeline.Flows)}
	d.flows.Begin(pipeline.SessionInfo{Rewriter: proxytest.Marking{}, Settings: wire.Settings{Encoding: "UTF8"}, Txn: 'E', Key: "\x00\x00\x00\x07key!"})
	d.flows.Share(memory.NewLongMessages(0), nil, nil, nil, nil)
	in, _ := (&pgproto3.Query{String: "select 1/0"}).Encode(nil)
	in, _ = (&pgproto3.Close{ObjectType: 'P'}).Encode(in)
	in, _ = (&pgproto3.Query{String: `mbus4 '\'`}).Encode(in)
	in, _ = (&pgproto3.Query{String: "rollback"}).Encode(in)
	out := wire.Splicer{Pool: wire.NewBufferPool()}
	if err := d.flows.Up.Feed(t.Context(), d.flows.Down.Backlog(), in, &out); !errors.Is(err, pipeline.ErrMustWait) {
		t.Fatal(err)
	}
	d.flows.Down.Expect(&d.flows.Up)
	failed := &pgproto3.ErrorResponse{Severity: "ERROR", SeverityUnlocalized: "ERROR", Code: "25P02", Message: "the transaction has failed"}
	inFailed := &pgproto3.ReadyForQuery{TxStatus: 'E'}
	if got := d.reply(failed, inFailed, closed, closed, failed); got != "EZ3" {
		t.Errorf("the client gets %s", got)
	}
	aside, _ := (&pgproto3.Query{String: `mbus4 '\'`}).Encode(nil)
	aside, _ = (&pgproto3.Query{String: "rollback"}).Encode(aside)
	if got := d.flows.Up.TakeAside(); string(got) != string(aside) {
		t.Fatalf("%q is set aside", got)
	}
	want := "S \"\"\nQ \"mbus4 '\\\\'\\x00\"\nQ \"rollback\\x00\""
	var messages []pgproto3.FrontendMessage
	for _, q := range []string{`mbus4 '\'`, "rollback"} {
		messages = append(messages, &pgproto3.Query{String: q})
	}
	if got := d.send(messages...); got != want {
		t.Errorf("the server gets %s", got)
	}
	if got := d.reply(inFailed, failed, inFailed, &pgproto3.CommandComplete{CommandTag: []byte("ROLLBACK")}, ready); got != "EZCZ" {
		t.Errorf("the client gets %s", got)
	}
}
