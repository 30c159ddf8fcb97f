package names

import (
	"errors"
	"slices"
	"sync"
	"sync/atomic"

	"mbusproxy/proxy/pipeline/requests"
)

// Table is the one table of what the session's prepared statements and portals stand for. It holds nothing
// in a session that never had a Plan, and a name only as long as it stands for something that matters.
//
// Of each name it knows two things, for the two directions stand at different places of the same stream:
//
//   - text is what the name stands for where the server's replies have come to. Reports are edited by it. Only the
//     direction server to client writes and reads it, in every session that has had a Plan. It may be forgotten where
//     memory is short.
//   - bound and outstanding are what it stands for where the client's messages have come to. They decide on prelude
//     statements, and there are such only in sessions that have had a bind-time plan. The direction client to server adds
//     a binding when it is sent, and the other settles it when the server has replied.
//
// A binding that takes a name away is noted to save memory only. Using a name that is not there fails and makes the
// server skip the rest; so only the last binding of a name need be known.
type Table struct {
	mu                  sync.Mutex // while it is held, only the mutex of the budget is locked
	statements, portals nameTable
	used                atomic.Bool // set for good when the table first holds something
}

// nameTable is the part of the table for statements, or for portals. Its methods are called with Table.mu held.
type nameTable struct {
	of map[string]*name
	textMemory
	texts int // names with a text
	bound int // names with a bound
	// matter counts the names that prelude statements may depend on, and kept the bytes of their bindings.
	matter, kept int
}

// name is what is known of one name.
type name struct {
	text *Text
	// bound is the last settled binding, nil where that does not matter; outstanding are those sent after it.
	bound       *Binding
	outstanding []*Binding
	kept        int // bytes of both
}

// table returns the part for statements or portals.
func (n *Table) table(portal bool) *nameTable {
	if portal {
		return &n.portals
	}
	return &n.statements
}

// change calls f with the name, which is added or removed as needed.
func (t *nameTable) change(key string, f func(e *name)) {
	e := t.of[key]
	added := e == nil
	if added {
		e = new(name)
	}
	before := *e
	f(e)
	t.kept += e.kept - before.kept
	t.matter += count(e.matters()) - count(before.matters())
	t.bound += count(e.bound != nil) - count(before.bound != nil)
	t.texts += count(e.text != nil) - count(before.text != nil)
	switch empty := e.text == nil && !e.matters(); {
	case empty && !added:
		if delete(t.of, key); len(t.of) == 0 {
			t.of = nil // maps do not shrink
		}
	case !empty && added:
		if t.of == nil {
			t.of = make(map[string]*name)
		}
		t.of[key] = e
	}
}

func count(b bool) int {
	if b {
		return 1
	}
	return 0
}

// matters reports whether prelude statements may depend on the name.
func (e *name) matters() bool { return e.bound != nil || len(e.outstanding) > 0 }

// ErrUnclear ends a session of which cannot be told what a name stands for: to run a prelude statement for the
// wrong portal, or none for the right one, is out of the question.
var ErrUnclear = errors.New("cannot tell what a name stands for")

// look returns the binding that the name has at the time when the server comes to a message sent now, nil when
// that does not matter; or the outcome that must be known first.
//
// If a message of the extended protocol fails the server skips all that follow it up to the next Sync. So what
// was sent since the last Sync needs no waiting for: it comes about, or the server does not come to this
// message. What was sent before will be replied to, for that Sync is.
func (e *name) look(segment uint64) (b *Binding, wait *requests.Outcome, err error) {
	if n := len(e.outstanding); n > 0 {
		b := e.outstanding[n-1]
		switch {
		case b.Segment == segment && !b.Simple:
			return b, nil, nil
		case b.Segment == segment && b.Doubtful:
			return nil, nil, ErrUnclear
		default:
			return nil, b.Outcome, nil
		}
	}
	if e.bound != nil && e.bound.Is() == requests.Unclear {
		return nil, nil, ErrUnclear
	}
	return e.bound, nil, nil
}

// add adds a binding that is about to be sent.
func (e *name) add(b *Binding) {
	e.outstanding = append(e.outstanding, b)
	e.kept += b.size()
}

// settle takes b, the outcome of which is known now, out of outstanding, and what was sent before
// it as well if b is what the name stands for now. If b is not among them it changes nothing.
func (e *name) settle(b *Binding, state requests.State) {
	i := slices.Index(e.outstanding, b)
	switch {
	case i < 0:
	case state == requests.Undone:
		e.outstanding = slices.Delete(e.outstanding, i, i+1)
		e.kept -= b.size()
	default:
		e.bind(nil)
		for _, old := range e.outstanding[:i] {
			e.kept -= old.size()
		}
		clear(e.outstanding[:i+1])
		e.outstanding = e.outstanding[i+1:]
		e.kept -= b.size()
		if state == requests.Unclear || b.matters() {
			e.bind(b)
		}
	}
}

// bind replaces the settled binding and keeps the count of bytes right.
func (e *name) bind(b *Binding) {
	if e.bound != nil {
		e.kept -= e.bound.size()
	}
	if e.bound = b; b != nil {
		e.kept += b.size()
	}
}

// end is called when the name has ended without having been taken away by name. What may have bound it later stays.
func (e *name) end() {
	if e.bound != nil && e.bound.Is() == requests.Done && !e.bound.Unknown {
		e.bind(nil)
	}
}

// maxName is NAMEDATALEN - 1 of the server: of a longer name only so many bytes count, also in messages of the protocol.
const maxName = 63

// Key is the part of a name that counts.
func Key(name []byte) string { return string(name[:min(len(name), maxName)]) }
