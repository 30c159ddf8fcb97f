package names

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
	long := &Text{Plan: &namesPlan{sql: strings.Repeat("x", rememberedFree/2)}}
	s := namesScript{t: t}
	s.Share(budget)
	parsed := func(key string, from *Text) {
		s.Replied(requests.Parse, &Use{Statement: key, Text: from}, wire.MsgParseComplete, "", true)
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
	s.Replied(requests.Bind, &Use{Portal: "p", Statement: "d"}, wire.MsgBindComplete, "", true)
	if got := s.edits(true, "p"); got != "forgotten" {
		t.Errorf("the portal edits %s", got)
	}
	if s.Ready(false, 'I'); s.edits(true, "p") != "none" {
		t.Errorf("the portal edits %s", s.edits(true, "p"))
	}
	s.line("tag DEALLOCATE ALL")
	edits("d", "none")
	parsed("a", long)
	parsed("b", long)
	parsed("c", long)
	s.Release()
	if !budget.Take(rememberedFree) {
		t.Error("something is kept after the end")
	}
}

// TestNamesForgetTheFirst: where not even the first text is remembered, the table is in use all the same.
func TestNamesForgetTheFirst(t *testing.T) {
	t.Parallel()
	s := namesScript{t: t}
	s.Share(memory.NewBudget(0))
	from := &Text{Plan: &namesPlan{sql: strings.Repeat("x", rememberedFree)}}
	s.Replied(requests.Parse, &Use{Statement: "s", Text: from}, wire.MsgParseComplete, "", true)
	if !s.InUse() {
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
	for i := range MaxStatements {
		if !s.RoomForStatement(fmt.Sprint("s", i), bindtime) {
			t.Fatalf("no room for %d", i)
		}
		s.line(fmt.Sprintf("parse s%d bindtime", i))
		s.line("done")
	}
	if s.RoomForStatement("more", bindtime) || s.RoomForStatement("more", s.text("deallocate=x")) || s.RoomForStatement("more", s.text("unread")) {
		t.Error("there is room for more")
	}
	if !s.RoomForStatement("", bindtime) || !s.RoomForStatement("s7", bindtime) || !s.RoomForStatement("more", s.text("plan")) {
		t.Error("there is no room for what takes none")
	}
	s.line("tag DEALLOCATE ALL")
	if !s.RoomForStatement("more", bindtime) || s.RoomForStatement("more", &Text{Plan: &namesPlan{sql: strings.Repeat("x", MaxStatementsSize+1), bindTime: true}}) {
		t.Error("the text counts, and nothing of what has ended")
	}
	if s.RoomForStatement("more", &Text{Plan: &namesPlan{bindTime: true}, Voids: make([]int, MaxStatementsSize/VoidSize+1)}) {
		t.Error("the numbers of its parameters do not count")
	}
	prelude := func(key string, again int) *Binding {
		return &Binding{Portal: true, Name: key, Prelude: &namesPlan{}, Again: make([]byte, again)}
	}
	for i := range MaxPreludes {
		b := prelude(fmt.Sprint("p", i), 0)
		if !s.RoomForPrelude(b) {
			t.Fatalf("no room for %d", i)
		}
		s.Settled(s.Note(b)[0], requests.Done)
	}
	if s.RoomForPrelude(prelude("more", 0)) || !s.RoomForPrelude(prelude("p7", maxAgain)) || s.RoomForPrelude(prelude("p7", maxAgain+1)) {
		t.Error("the bound is another")
	}
	s.line("end")
	if !s.RoomForPrelude(prelude("more", 0)) {
		t.Error("portals that have ended count")
	}
	s.checkCounts("after all")
}
