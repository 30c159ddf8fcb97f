package pipeline

import (
	"testing"

	"mbusproxy/proxy/pipeline/names"
	"mbusproxy/proxy/pipeline/requests"
	"mbusproxy/proxy/statements"
	"mbusproxy/proxy/wire"
)

// TestUnclearBinding: what the replies leave open is not taken for done or undone.
func TestUnclearBinding(t *testing.T) {
	var tr tracker
	n := &tr.names
	parse := func(segment uint64) (*names.Binding, request) {
		b := &names.Binding{Name: "s", Segment: segment, Text: &names.Text{Effect: &statements.Effect{}}}
		return b, request{kind: requests.Parse, details: &details{Use: names.Use{Statement: "s", Bindings: n.Note(b)}}}
	}
	first, parseFirst := parse(1)
	tr.queueUp([]request{{kind: requests.Execute}, {kind: requests.Sync}, {kind: requests.CopyEnd}, {kind: requests.Sync}, parseFirst, {kind: requests.Sync}})
	reply := func(types ...byte) {
		t.Helper()
		for _, typ := range types {
			detail := ""
			if typ == wire.MsgReadyForQuery {
				detail = "I"
			}
			if _, err := tr.answer(typ, detail); err != nil {
				t.Fatal(err)
			}
		}
	}
	reply(wire.MsgCopyInResponse, wire.MsgErrorResponse, wire.MsgReadyForQuery)
	if len(tr.more) == 0 || first.Is() != requests.Pending {
		t.Fatalf("%d more readings, outcome %s", len(tr.more), first.Is())
	}
	reply(wire.MsgErrorResponse, wire.MsgReadyForQuery) // of the second Sync, or of the Parse and the third
	if first.Is() != requests.Unclear {
		t.Errorf("outcome %s", first.Is())
	}
	select {
	case <-first.Known():
	default:
		t.Error("whoever waits is not told")
	}
	if _, _, err := n.Look(false, "s", 3); err != names.ErrUnclear { //nolint:errorlint // returned as it is
		t.Errorf("got %v", err)
	}
	// What is certain later counts.
	second, parseSecond := parse(2)
	tr.queue, tr.main, tr.more = requestQueue{}, reading{}, nil
	tr.queueUp([]request{parseSecond, {kind: requests.Sync}})
	reply(wire.MsgParseComplete, wire.MsgReadyForQuery)
	if b, wait, err := n.Look(false, "s", 3); b != second || wait != nil || err != nil {
		t.Errorf("got %v, %v, %v", b, wait, err)
	}
}

// TestHideDisagrees: a reply that is hidden in one reading and not in another goes nowhere.
func TestHideDisagrees(t *testing.T) {
	tr := tracker{main: reading{at: 0}, more: []reading{{at: 1}}}
	tr.queueUp([]request{{kind: requests.Close}, {kind: requests.Close, hidden: true}})
	if _, err := tr.answer(wire.MsgCloseComplete, ""); err != names.ErrUnclear { //nolint:errorlint // returned as it is
		t.Errorf("got %v", err)
	}
}
