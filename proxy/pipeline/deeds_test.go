package pipeline

import (
	"testing"

	"mbusproxy/proxy/wire"
)

// TestDeedsUnclear: what the replies leave open is not taken for done or undone.
func TestDeedsUnclear(t *testing.T) {
	var tr tracker
	first, second := newDeed(1, "", meaning{act: &act{}}), newDeed(2, "", meaning{act: &act{}})
	parse := func(d *deed) owed { return owed{kind: owedParse, about: &about{statement: "s", deeds: []*deed{d}}} }
	tr.queueUp([]owed{{kind: owedExecute}, {kind: owedSync}, {kind: copyEnd}, {kind: owedSync}, parse(first), {kind: owedSync}})
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
	if len(tr.more) == 0 || !first.pending() {
		t.Fatalf("%d more readings, outcome %d", len(tr.more), first.outcome.Load())
	}
	reply(wire.MsgErrorResponse, wire.MsgReadyForQuery) // of the second Sync, or of the Parse and the third
	if first.outcome.Load() != deedUnclear {
		t.Errorf("outcome %d", first.outcome.Load())
	}
	select {
	case <-first.known:
	default:
		t.Error("whoever waits is not told")
	}
	h := history{underWay: []*deed{first}}
	if !h.catchUp() {
		t.Error("forgotten")
	}
	if _, _, err := h.look(3); err != errUnclear { //nolint:errorlint // returned as it is
		t.Errorf("got %v", err)
	}
	// What is certain later counts.
	h.underWay = append(h.underWay, second)
	tr = tracker{}
	tr.queueUp([]owed{parse(second), {kind: owedSync}})
	reply(wire.MsgParseComplete, wire.MsgReadyForQuery)
	h.catchUp()
	if meant, wait, err := h.look(3); meant != second || wait != nil || err != nil {
		t.Errorf("got %v, %v, %v", meant, wait, err)
	}
}

// TestHideDisagrees: a reply that is hidden in one reading and not in another goes nowhere.
func TestHideDisagrees(t *testing.T) {
	tr := tracker{main: reading{at: 0}, more: []reading{{at: 1}}}
	tr.queueUp([]owed{{kind: owedClose}, {kind: owedClose, hidden: true}})
	if _, err := tr.answer(wire.MsgCloseComplete, ""); err != errUnclear { //nolint:errorlint // returned as it is
		t.Errorf("got %v", err)
	}
}
