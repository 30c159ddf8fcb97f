package splice

import (
	"sort"
	"strings"

	"mbusproxy/rewrite/lex"
)

// A marker (see Markers) must not be believed because it looks like one: a message's data that a client casts
// to integer may hold the same words. So it also holds a secret of the session, which nobody who writes such
// data can know. It stands in no table and no function; what shows a statement's text (pg_stat_activity,
// current_query(), logs) shows it to the session itself, to its role and to those who administrate the
// server, and it is worth nothing in any other session.
//
// Plans are shared between sessions, so a plan's text holds BlankSecret, of the same length, and the places
// of it are segments of their own, which Plan.For fills.

// SecretLen is the length of a secret in bytes.
const SecretLen = 16

// BlankSecret stands for the secret in the text of a plan that belongs to no session yet.
const BlankSecret = "_session_secret_"

// segment says where a piece of the rewritten text came from.
type segment struct {
	out  int  // byte offset in the rewritten text
	in   int  // byte offset in the client's text
	copy bool // copied byte for byte; otherwise all of it stands for the client's byte `in`
	// secret is set where the session's secret goes.
	secret bool
}

// Text is a text that was put together from pieces, each of which knows where it came from. It is immutable.
type Text struct {
	SQL  string
	segs []segment
}

// Pieces returns the number of the pieces.
func (t Text) Pieces() int { return len(t.segs) }

// startOf returns where piece i starts.
func (t Text) startOf(i int) int {
	if i == len(t.segs) {
		return len(t.SQL)
	}
	return t.segs[i].out
}

// segmentBytes is about what a segment takes, in bytes.
const segmentBytes = 24

// Size is about how many bytes the text takes.
func (t Text) Size() int { return len(t.SQL) + segmentBytes*len(t.segs) }

// Origin returns which byte of the client's text stands behind the one at off, and whether it was copied from there;
// otherwise it is text of ours that stands for that byte.
func (t Text) Origin(off int) (in int, copied bool) {
	i := sort.Search(len(t.segs), func(i int) bool { return t.segs[i].out > off }) - 1
	if i < 0 {
		return 0, true
	}
	if s := t.segs[i]; s.copy {
		return s.in + off - s.out, true
	}
	return t.segs[i].in, false
}

// Transfer makes the text for another client's text with the same skeleton from that for one. m maps places of the
// one to places of the other.
func (t Text) Transfer(text string, m lex.Mover) Text {
	var b strings.Builder
	b.Grow(len(t.SQL))
	segs := make([]segment, len(t.segs))
	for i, s := range t.segs {
		end := t.startOf(i + 1)
		segs[i] = segment{out: b.Len(), in: m.Move(s.in), copy: s.copy, secret: s.secret}
		if s.copy {
			// What is copied starts and ends between lexemes, never inside a literal.
			b.WriteString(text[m.Move(s.in):m.Move(s.in+end-s.out)])
		} else {
			b.WriteString(t.SQL[s.out:end])
		}
	}
	return Text{b.String(), segs}
}

// WithSecret returns the text with the secret in its places.
func (t Text) WithSecret(secret string) string {
	var b []byte
	for _, s := range t.segs {
		if s.secret {
			if b == nil {
				b = []byte(t.SQL)
			}
			copy(b[s.out:s.out+SecretLen], secret)
		}
	}
	if b == nil {
		return t.SQL
	}
	return string(b)
}
