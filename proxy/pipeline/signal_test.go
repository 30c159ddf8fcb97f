package pipeline

import (
	"testing"

	"mbusproxy/proxy/pipeline/names"
	"mbusproxy/proxy/pipeline/refuse"
	"mbusproxy/proxy/pipeline/requests"
	"mbusproxy/proxy/statements"
	"mbusproxy/proxy/wire"
)

// signalling is a plan that counts the transactions it was executed in.
type signalling struct {
	statements.Plan
	ended int
	takes bool
}

func (p *signalling) Signals(ok bool) statements.Signals {
	if ok || p.takes {
		return 1
	}
	return 0
}

func (p *signalling) AfterTransaction(statements.Signals) { p.ended++ }

func TestSignalAtEndOfTransaction(t *testing.T) {
	t.Parallel()
	plan := &signalling{Plan: refuse.Canceled()}
	var f serverFlow
	tr := &f.tracker
	ours, other := request{kind: requests.Query, details: &details{plan: plan}}, request{kind: requests.Query, details: &details{}}
	reply := func(o request, types string, status string) {
		t.Helper()
		tr.queueUp([]request{o})
		for _, typ := range []byte(types) {
			if _, err := tr.answer(typ, ""); err != nil {
				t.Fatal(err)
			}
		}
		if _, err := tr.answer(wire.MsgReadyForQuery, status); err != nil {
			t.Fatal(err)
		}
	}
	for _, step := range []struct {
		what   string
		o      request
		types  string
		status string
		want   int
	}{
		{"another statement", other, "C", "I", 0},
		{"ours, committed by itself", ours, "TDC", "I", 1},
		{"another one after it", other, "C", "I", 1},
		{"begin", other, "C", "T", 1},
		{"ours in a block", ours, "C", "T", 1},
		{"ours again", ours, "C", "T", 1},
		{"commit", other, "C", "I", 2},
		{"ours, failed", ours, "E", "I", 2},
	} {
		reply(step.o, step.types, step.status)
		if plan.ended != step.want {
			t.Errorf("%s: told %d times, want %d", step.what, plan.ended, step.want)
		}
	}
	// In the extended protocol the plan is that of the portal.
	parse := names.Use{Statement: "s", Text: &names.Text{Plan: plan}}
	tr.names.Replied(requests.Parse, &parse, wire.MsgParseComplete, "", true)
	tr.queueUp([]request{{kind: requests.Bind, details: &details{Use: names.Use{Statement: "s"}}}, {kind: requests.Execute, details: &details{}}, {kind: requests.Sync}})
	for _, typ := range []byte("2C") {
		if _, err := tr.answer(typ, ""); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := tr.answer(wire.MsgReadyForQuery, "I"); err != nil || plan.ended != 3 {
		t.Errorf("extended: told %d times, %v", plan.ended, err)
	}
	// What a failed statement had taken comes back, and so does what was taken in a transaction
	// that ends with its session.
	plan.takes = true
	reply(ours, "E", "I")
	if plan.ended != 4 {
		t.Errorf("failed: told %d times", plan.ended)
	}
	f.queueUp([]request{{kind: requests.Bind, details: &details{Use: names.Use{Statement: "s"}}}, {kind: requests.Execute, details: &details{}}, {kind: requests.Sync}})
	for _, typ := range []byte("2Ds") { // a part of its rows
		if _, err := f.answer(typ, ""); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := f.answer(wire.MsgReadyForQuery, "T"); err != nil || plan.ended != 4 {
		t.Errorf("suspended: told %d times, %v", plan.ended, err)
	}
	f.ServerEnded()
	if plan.ended != 5 {
		t.Errorf("session ended: told %d times", plan.ended)
	}
	f.signal()
	if plan.ended != 5 {
		t.Errorf("ended again: told %d times", plan.ended)
	}
}
