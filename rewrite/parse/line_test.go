package parse

import (
	"context"
	"errors"
	"fmt"
	"testing"
)

// waiting returns how many wait.
func (l *line) waiting() (n int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, p := range l.parties {
		for _, queue := range p.queues {
			n += len(queue)
		}
	}
	return n
}

// begin takes in the background, and returns when it has its turn or waits for it.
func begin(t *testing.T, ctx context.Context, l *line, c Client, tokens int) <-chan error {
	t.Helper()
	before := l.waiting()
	out := make(chan error, 1)
	go func() { out <- l.take(ctx, c, tokens) }()
	for len(out) == 0 && l.waiting() == before {
		if t.Context().Err() != nil {
			t.Fatal("neither a turn nor a wait")
		}
	}
	return out
}

// wantEmpty checks that all has come back.
func wantEmpty(t *testing.T, l *line) {
	t.Helper()
	fresh := newLine(l.slots - 2)
	if l.free != l.slots || l.longs != fresh.longs || l.others != fresh.others || l.tokens != fresh.tokens || len(l.parties)+len(l.roles)+len(l.databases) > 0 {
		t.Errorf("not all came back: %+v", l)
	}
}

// client is a role with a right in a database.
func client(name string) Client { return Client{Database: "d", Role: name, Served: true} }

const longText = MaxTokens - 1000

func TestLongTexts(t *testing.T) {
	ctx := t.Context()
	l := newLine(2)
	a, b := client("a"), client("b")
	if err := l.take(ctx, a, longText); err != nil {
		t.Fatal(err)
	}
	first, second := begin(t, ctx, l, a, longText), begin(t, ctx, l, b, MiddleTokens+1)
	for _, tokens := range []int{10, ShortTokens, MiddleTokens} { // others pass long ones
		for range 10 {
			if err := l.take(ctx, b, tokens); err != nil {
				t.Fatal(err)
			}
			l.give(b, tokens)
		}
	}
	if len(first)+len(second) > 0 {
		t.Fatal("a second long text has its turn beside the first")
	}
	l.give(a, longText)
	if err := <-second; err != nil { // b has used less, though a came first
		t.Fatal(err)
	}
	if len(first) > 0 {
		t.Fatal("two long ones at once")
	}
	l.give(b, MiddleTokens+1)
	if err := <-first; err != nil {
		t.Fatal(err)
	}
	l.give(a, longText)
	wantEmpty(t, l)
}

// The wait ends with the context, and whoever is behind has the turn.
func TestWaitEnds(t *testing.T) {
	l := newLine(2)
	a, b := client("a"), client("b")
	if err := l.take(t.Context(), a, longText); err != nil {
		t.Fatal(err)
	}
	gone := errors.New("canceled")
	ctx, cancel := context.WithCancelCause(t.Context())
	first, second := begin(t, ctx, l, a, longText), begin(t, t.Context(), l, b, longText)
	cancel(gone)
	if err := <-first; !errors.Is(err, gone) {
		t.Errorf("got %v", err)
	}
	l.give(a, longText)
	if err := <-second; err != nil {
		t.Fatal(err)
	}
	l.give(b, longText)
	if err := l.take(ctx, a, 1); !errors.Is(err, gone) {
		t.Errorf("got %v", err)
	}
	wantEmpty(t, l)
}

// A role does not have all slots, nor a database with all its roles, nor those who are not served.
func TestSlotsAreLeft(t *testing.T) {
	in := func(database, role string, served bool) Client { return Client{database, role, served} }
	for _, c := range []struct {
		name string
		of   func(i int) Client
		left int
	}{
		{"a role", func(i int) Client { return in(fmt.Sprint(i), "a", true) }, 2},
		{"a database", func(i int) Client { return in("d", fmt.Sprint(i), true) }, 1},
		{"roles without rights", func(i int) Client { return in(fmt.Sprint(i), fmt.Sprint(i), false) }, 3},
		{"all", func(i int) Client { return in(fmt.Sprint(i), fmt.Sprint(i), true) }, 0},
	} {
		l := newLine(2)
		var turns []<-chan error
		for i := range 30 {
			turns = append(turns, begin(t, t.Context(), l, c.of(i), 10))
		}
		if l.mu.Lock(); l.free != c.left {
			t.Errorf("%s leaves %d slots free", c.name, l.free)
		}
		l.mu.Unlock()
		ended := make([]bool, len(turns))
		for n := 0; n < len(turns); { // all have their turns in the end
			for i := range turns {
				if !ended[i] && len(turns[i]) > 0 {
					ended[i] = true
					l.give(c.of(i), 10)
					n++
				}
			}
			if t.Context().Err() != nil {
				t.Fatal("not all have their turns")
			}
		}
		wantEmpty(t, l)
	}
}

// turns has clients wait with so many texts each, in that order, and returns whose turn came, one after the other.
func turns(l *line, tokens int, texts ...[]Client) (order []Client) {
	for _, clients := range texts {
		for _, c := range clients {
			l.enter(c, &waiter{tokens, make(chan struct{})})
		}
	}
	for {
		p, w := l.next()
		if p == nil {
			return order
		}
		l.begin(p, w)
		l.leave(p, w)
		l.end(p.client, tokens)
		order = append(order, p.client)
	}
}

// until counts the turns up to the last of a client's.
func until(order []Client, c Client) (n int) {
	for i := range order {
		if order[i] == c {
			n = i + 1
		}
	}
	return n
}

// Who has ten texts in the line waits for about ten of others', however many these have, in how many databases.
func TestTurns(t *testing.T) {
	const flood, own = 500, 10
	honest := client("honest")
	many := func(n int, of func(i int) Client) (all []Client) {
		for i := range n {
			all = append(all, of(i))
		}
		return all
	}
	for _, c := range []struct {
		name    string
		flooder func(i int) Client
		honest  Client
		most    int // turns until the honest one has had its own
	}{
		{"sessions", func(int) Client { return Client{"d", "a", true} }, honest, 2 * own},
		{"databases", func(i int) Client { return Client{fmt.Sprint(i), "a", true} }, honest, 2 * own},
		{"without rights", func(i int) Client { return Client{"d", fmt.Sprint(i), false} }, honest, own + 1},
		{"without rights, all", func(int) Client { return Client{"d", "a", false} }, Client{"d", "honest", false}, 2 * own},
	} {
		for _, tokens := range []int{1000, MiddleTokens, longText} {
			l := newLine(2)
			order := turns(l, tokens, many(flood, c.flooder), many(own, func(int) Client { return c.honest }))
			if n := until(order, c.honest); n > c.most {
				t.Errorf("%s, %d tokens: the honest client had its %d turns among the first %d", c.name, tokens, own, n)
			}
			if len(order) != flood+own {
				t.Errorf("%s: %d turns", c.name, len(order))
			}
			wantEmpty(t, l)
		}
	}
}

// Who is not served has a turn now and then, and of what a role could not use for long it does not have all later.
func TestNobodyStarves(t *testing.T) {
	l := newLine(2)
	user, other := client("user"), Client{Database: "d", Role: "other"}
	var users, others []Client
	for range 10 * servedAhead {
		users, others = append(users, user), append(others, other)
	}
	order := turns(l, 1000, users, others)
	if n := until(order[:11*servedAhead], other); n < 10*servedAhead {
		t.Errorf("the last turn of the others among the first was number %d", n)
	}
	late := client("late")
	l.roles[user.Role], l.roles[late.Role] = &account{used: 1 << 40, texts: 1}, &account{texts: 1}
	l.began = 1 << 40
	order = turns(l, 1000, users, append(users[:0:0], late, late, late))
	if l.roles[late.Role].used < 1<<40-maxCredit {
		t.Errorf("it may use %d tokens before others", 1<<40-l.roles[late.Role].used)
	}
	if len(order) != len(users)+3 {
		t.Errorf("%d turns", len(order))
	}
}
