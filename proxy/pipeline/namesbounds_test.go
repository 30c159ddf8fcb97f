package pipeline

import (
	"fmt"
	"strings"
	"testing"

	"mbusproxy/proxy/memory"
	"mbusproxy/proxy/pipeline/requests"
	"mbusproxy/proxy/wire"
)

// TestNamesForget: a session without a share of the budget forgets plans, says so, and gives all back at its end.
func TestNamesForget(t *testing.T) {
	t.Parallel()
	budget := memory.NewBudget(rememberedFree)
	long := &text{plan: &namesPlan{sql: strings.Repeat("x", rememberedFree/2)}}
	s := namesScript{t: t}
	s.share(budget)
	parsed := func(key string, from *text) {
		s.replied(&request{kind: requests.Parse, details: &details{statement: key, text: from}}, wire.MsgParseComplete, "", true)
	}
	edits := func(key, want string) {
		t.Helper()
		if got := s.edits(false, key); got[:1] != want[:1] {
			t.Errorf("%s edits %.10s, want %s", key, got, want)
		}
	}
	for _, key := range []string{"a", "b", "c", "d"} {
		parsed(key, long)
	}
	edits("a", "x")
	edits("c", "x")
	edits("d", "forgotten")
	edits("", "forgotten") // it may have had one
	// What is taken away makes room.
	parsed("a", nil)
	parsed("e", long)
	edits("e", "x")
	s.checkCounts("with a budget")
	// A portal that a forgotten statement is bound to is forgotten, too, until the transaction ends.
	s.replied(&request{kind: requests.Bind, details: &details{portal: "p", statement: "d"}}, wire.MsgBindComplete, "", true)
	if got := s.edits(true, "p"); got != "forgotten" {
		t.Errorf("the portal edits %s", got)
	}
	if s.ready(false, 'I'); s.edits(true, "p") != "none" {
		t.Errorf("the portal edits %s", s.edits(true, "p"))
	}
	s.line("tag DEALLOCATE ALL")
	edits("d", "none")
	parsed("a", long)
	parsed("b", long)
	parsed("c", long)
	s.release()
	if !budget.Take(rememberedFree) {
		t.Error("something is kept after the end")
	}
}

// TestNamesForgetTheFirst: where not even the first text is remembered, the table is in use all the same.
func TestNamesForgetTheFirst(t *testing.T) {
	t.Parallel()
	s := namesScript{t: t}
	s.share(memory.NewBudget(0))
	from := &text{plan: &namesPlan{sql: strings.Repeat("x", rememberedFree)}}
	s.replied(&request{kind: requests.Parse, details: &details{statement: "s", text: from}}, wire.MsgParseComplete, "", true)
	if !s.inUse() {
		t.Error("not in use")
	}
	s.line("s edits forgotten")
	s.line("bind p s")
	s.line("done")
	s.line("@p edits forgotten")
	s.line("end")
	s.line("@p edits none")
	s.line("tag DEALLOCATE ALL")
	s.line("s edits none")
}

// TestNamesHaveBounds: what is one too many is refused, and fits again when another name has ended.
func TestNamesHaveBounds(t *testing.T) {
	t.Parallel()
	s := namesScript{t: t}
	bindtime := s.text("bindtime")
	for i := range maxStatements {
		if !s.roomForStatement(fmt.Sprint("s", i), bindtime) {
			t.Fatalf("no room for %d", i)
		}
		s.line(fmt.Sprintf("parse s%d bindtime", i))
		s.line("done")
	}
	if s.roomForStatement("more", bindtime) || s.roomForStatement("more", s.text("deallocate=x")) || s.roomForStatement("more", s.text("unread")) {
		t.Error("there is room for more")
	}
	if !s.roomForStatement("", bindtime) || !s.roomForStatement("s7", bindtime) || !s.roomForStatement("more", s.text("plan")) {
		t.Error("there is no room for what takes none")
	}
	s.line("tag DEALLOCATE ALL")
	if !s.roomForStatement("more", bindtime) || s.roomForStatement("more", &text{plan: &namesPlan{sql: strings.Repeat("x", maxStatementsSize+1), bindTime: true}}) {
		t.Error("the text counts, and nothing of what has ended")
	}
	if s.roomForStatement("more", &text{plan: &namesPlan{bindTime: true}, voids: make([]int, maxStatementsSize/voidSize+1)}) {
		t.Error("the numbers of its parameters do not count")
	}
	prelude := func(key string, again int) *binding {
		return &binding{portal: true, name: key, prelude: &namesPlan{}, again: make([]byte, again)}
	}
	for i := range MaxPreludes {
		b := prelude(fmt.Sprint("p", i), 0)
		if !s.roomForPrelude(b) {
			t.Fatalf("no room for %d", i)
		}
		s.settled(s.note(b)[0], requests.Done)
	}
	if s.roomForPrelude(prelude("more", 0)) || !s.roomForPrelude(prelude("p7", maxAgain)) || s.roomForPrelude(prelude("p7", maxAgain+1)) {
		t.Error("the bound is another")
	}
	s.line("end")
	if !s.roomForPrelude(prelude("more", 0)) {
		t.Error("portals that have ended count")
	}
	s.checkCounts("after all")
}
