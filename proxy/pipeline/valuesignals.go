package pipeline

import (
	"slices"

	"mbusproxy/proxy/statements"
	"mbusproxy/proxy/wire"
)

// What a transaction may have changed depends on values that it binds: a post to $1 says nothing of
// the queue. So each Bind of such a statement has with it what its values mean, and what those of a
// transaction mean together is what Plan.Signals is told.

// maxValueSignals bounds the statements of a session whose values are read.
const maxValueSignals = 128

// valueSignals is what a ClientFlow keeps in a session with plans whose Signals depend on values.
type valueSignals struct {
	statements map[string]valueReader
	over       bool // there were more than maxValueSignals: of those that are not known nothing can be said
}

// valueReader reads the values that are bound to a statement.
type valueReader struct {
	of statements.ValueSignals // nil only where unclear is set
	// unclear says that the values cannot be read: they may be of other types than text, or the name
	// may stand for another statement.
	unclear bool
}

// noteValueSignals is called for each Parse, with the end of its body.
func (f *ClientFlow) noteValueSignals(key string, plan statements.Plan, types []byte) {
	var now valueReader
	if p, ok := plan.(statements.ValueSignaler); ok {
		now.of = p.ValueSignals()
	}
	before, known := f.values.statements[key]
	switch {
	case now.of != nil:
		now.unclear = slices.ContainsFunc(now.of.Parameters(), func(n int) bool { return !isText(types, n) })
	case !known: // nearly always
		return
	}
	switch {
	case known && key != "" && (before.unclear || now.of == nil || !slices.Equal(before.of.Parameters(), now.of.Parameters())):
		now = valueReader{unclear: true} // the Parse fails if the name is still taken
	case now.of == nil:
		delete(f.values.statements, key)
		return
	case !known && len(f.values.statements) >= maxValueSignals:
		f.values.over = true
		return
	case f.values.statements == nil:
		f.values.statements = map[string]valueReader{}
	}
	f.values.statements[key] = now
}

// isText reports whether the end of a Parse does not say that parameter n is anything but a text,
// whose value is the same in both formats.
func isText(types []byte, n int) bool {
	oid, _ := declaredType(types, n)
	return oid == oidUnspecified || oid == oidText || oid == oidVarchar
}

// signalsOfValues says what the values of a Bind of the statement mean.
func (f *ClientFlow) signalsOfValues(key string, frame []byte) (s statements.Signals) {
	if f.values.statements == nil { // nearly always
		return 0
	}
	r, known := f.values.statements[key]
	switch {
	case !known && f.values.over || known && r.unclear:
		return statements.AllSignals
	case !known:
		return 0
	}
	for _, n := range r.of.Parameters() {
		value, ok := wire.ReadValue(frame[wire.HeaderSize:], n)
		if !ok { // it is too long, or the server refuses it
			return statements.AllSignals
		}
		s |= r.of.Of(value)
	}
	return s
}
