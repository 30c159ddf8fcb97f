package schema

import "sync/atomic"

// Features tells which features that make calls dearer a database uses, as far as this program knows. A feature
// once in use counts as in use from then on. It is safe for concurrent use.
type Features struct {
	ordered  atomic.Bool
	triggers atomic.Bool
}

// Ordered reports whether messages wait for others, or did.
func (f *Features) Ordered() bool { return f.ordered.Load() }

// NoteOrdered tells that messages wait for others, or may soon.
func (f *Features) NoteOrdered() { f.ordered.Store(true) }

// Triggers reports whether triggers copy what is posted from queue to queue, or did.
func (f *Features) Triggers() bool { return f.triggers.Load() }

// NoteTriggers tells that there are triggers, or may be soon.
func (f *Features) NoteTriggers() { f.triggers.Store(true) }
