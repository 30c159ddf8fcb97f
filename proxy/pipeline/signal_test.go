package pipeline

import (
	"slices"
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
	bound []statements.Signals // that Signals was told
}

func (p *signalling) Signals(ok bool, bound statements.Signals) statements.Signals {
	p.bound = append(p.bound, bound)
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

// What the values of a transaction mean is told together, and not to the next one.
func TestSignalsOfBoundValues(t *testing.T) {
	t.Parallel()
	plan := &signalling{Plan: refuse.Canceled()}
	var f serverFlow
	parse := names.Use{Statement: "s", Text: &names.Text{Plan: plan}}
	f.names.Replied(requests.Parse, &parse, wire.MsgParseComplete, "", true)
	bind := func(portal string, values statements.Signals) request {
		return request{kind: requests.Bind, details: &details{Use: names.Use{Statement: "s", Portal: portal}, values: values}}
	}
	execute := func(portal string) request {
		return request{kind: requests.Execute, details: &details{Use: names.Use{Portal: portal, OfPortal: true}}}
	}
	for _, step := range []struct {
		what    string
		sent    []request
		replies string
		status  string
		want    []statements.Signals
	}{
		{"one", []request{bind("", 2), execute("")}, "2C", "I", []statements.Signals{2}},
		{"one in the next transaction", []request{bind("", 4), execute("")}, "2C", "I", []statements.Signals{4}},
		{"two in one", []request{bind("a", 2), bind("b", 4), execute("a"), execute("b")}, "22CC", "I", []statements.Signals{6, 6}},
		{"nothing", []request{bind("", 0), execute("")}, "2C", "I", []statements.Signals{0}},
		{"in a block", []request{bind("a", 8), execute("a")}, "2C", "T", []statements.Signals{8}},
		{"later in it", []request{execute("a")}, "C", "T", []statements.Signals{8}},
		{"and another", []request{bind("", 1), execute("")}, "2C", "I", []statements.Signals{9}},
	} {
		plan.bound = nil
		f.queueUp(append(step.sent, request{kind: requests.Sync}))
		for _, typ := range []byte(step.replies) {
			if _, err := f.answer(typ, ""); err != nil {
				t.Fatalf("%s: %v", step.what, err)
			}
		}
		if _, err := f.answer(wire.MsgReadyForQuery, step.status); err != nil {
			t.Fatalf("%s: %v", step.what, err)
		}
		if !slices.Equal(plan.bound, step.want) {
			t.Errorf("%s: told %v, want %v", step.what, plan.bound, step.want)
		}
	}
}
