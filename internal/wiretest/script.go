package wiretest

import (
	"bytes"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/jackc/pgx/v5/pgproto3"
)

// Turn is what a client sends before it does something else.
type Turn struct {
	Messages []pgproto3.FrontendMessage
	Wait     bool // until nothing is outstanding
}

// Script is what a client sends in a session.
type Script []Turn

// Count returns the number of messages.
func (s Script) Count() (n int) {
	for _, t := range s {
		n += len(t.Messages)
	}
	return n
}

func (s Script) String() string {
	var b strings.Builder
	for _, t := range s {
		for _, m := range t.Messages {
			fmt.Fprintf(&b, "%T %+v\n", m, m)
		}
		if t.Wait {
			b.WriteString("-- wait\n")
		}
	}
	return b.String()
}

// Shrink leaves out of a script that fails as much as it can within limit.
func Shrink(s Script, limit time.Duration, fails func(Script) bool) Script {
	var units Script // turns of one message each; the last one of a turn waits if the turn did
	for _, t := range s {
		for i, m := range t.Messages {
			units = append(units, Turn{[]pgproto3.FrontendMessage{m}, t.Wait && i == len(t.Messages)-1})
		}
	}
	for until, size := time.Now().Add(limit), len(units)/2; size > 0; size /= 2 {
		for at := 0; at+size < len(units) && time.Now().Before(until); { // the last one stays
			if less := slices.Delete(slices.Clone(units), at, at+size); fails(less) {
				units = less
			} else {
				at += size
			}
		}
	}
	return units
}

// Difference is the index of the first reply that is not the same; -1 when all are. A server that ends a
// session by itself closes with input unread, and then the system may drop its last words.
func Difference(a, b [][]byte, same func(a, b []byte) bool) int {
	n, longer := max(len(a), len(b)), a
	if len(b) > len(a) {
		longer = b
	}
	if len(longer) > 1 && bytes.Contains(longer[len(longer)-2], []byte("SFATAL\x00")) {
		n = min(len(a), len(b)) - 1
	}
	for i := range n {
		if i >= len(a) || i >= len(b) || !same(a[i], b[i]) {
			return i
		}
	}
	return -1
}

// Around shows the replies near the one with the index at, and that one's bytes.
func Around(replies [][]byte, at int) string {
	var b strings.Builder
	for i := max(0, at-10); i < min(len(replies), at+3); i++ {
		fe := pgproto3.NewFrontend(bytes.NewReader(replies[i]), io.Discard)
		if m, err := fe.Receive(); err != nil {
			fmt.Fprintf(&b, "%d: %q", i, replies[i])
		} else {
			fmt.Fprintf(&b, "%d: %T %+v", i, m, m)
		}
		if i == at {
			fmt.Fprintf(&b, "\n    %q", replies[i])
		}
		b.WriteString("\n")
	}
	return b.String()
}
