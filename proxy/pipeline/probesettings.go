package pipeline

import (
	"bytes"
	"strings"

	"mbusproxy/proxy/wire"
)

// Of settings the proxy knows what the server has reported, and that it does before ReadyForQuery only. While replies
// are owed, any statement among those sent may have changed them: by SET, in a function, by
// ROLLBACK. A text for the Rewriter that reads differently then waits until the session has been asked. Within
// one Query nothing changes: the server splits it into statements before it runs the first.

// settingsProbe asks for what a text's meaning depends on. It reads the same under all settings.
const settingsProbe = "select pg_catalog.concat_ws(' ', pg_catalog.current_setting('standard_conforming_strings'), pg_catalog.current_setting('client_encoding'))"

// told are the settings that the session has told about for the message being looked at.
type told struct {
	asked  bool           // the question under way is about settings
	answer *wire.Settings // nil: as reported
}

// unsure reports whether the message may be read differently from what the reported settings make of it.
func (f *ClientFlow) unsure(frame []byte) bool {
	if f.rewriter == nil || !isWhole(frame) {
		return false
	}
	body := frame[wire.HeaderSize:]
	switch frame[0] {
	case wire.MsgQuery, wire.MsgParse:
		return f.varies(body) && (f.forRewriter(frame) || f.bindTime != nil && f.rewriter.MayHaveEffects(body))
	case wire.MsgBind:
		if !f.asksPlan(frame) {
			return false
		}
		values, _ := wire.ReadValues(body)
		for n := 1; n <= values.Len(); n++ {
			if v, _ := values.Get(n); f.varies(v.Bytes) {
				return true
			}
		}
	}
	return false
}

// varies reports whether a text may mean something else under the settings that the session may have than it
// means under those that were reported.
func (f *ClientFlow) varies(text []byte) bool {
	if f.probing.told.answer != nil || f.before.Outstanding+len(f.requests) == 0 {
		return false
	}
	if bytes.IndexByte(text, '\\') >= 0 {
		return true
	}
	for _, c := range text {
		if c >= 0x80 {
			return true
		}
	}
	return false
}

// probeSettings returns the messages that ask for the settings before the message in frame.
func (f *ClientFlow) probeSettings(frame []byte) (messages []byte) {
	f.probing.told.asked = true
	simple := frame[0] == wire.MsgQuery && !f.probing.unsynced
	return f.pose(settingsProbe, simple, !simple && !f.probing.unsynced && !f.probing.copied)
}

// settled takes the answer to a question about settings. One that failed is left to be dealt with as any other.
func (f *ClientFlow) settled() {
	a := &f.probing
	if !a.told.asked {
		return
	}
	a.told.asked = false
	if a.answered.is() != done {
		return
	}
	strings, encoding, _ := strings.Cut(a.answered.answer, " ")
	now := *f.settings.Load()
	now.EscapeStrings, now.Encoding = strings == "off", encoding
	a.told.answer, a.answered = &now, nil
}

// reads are the settings with which the message being looked at is read.
func (f *ClientFlow) reads() *wire.Settings {
	if now := f.probing.told.answer; now != nil {
		return now
	}
	return f.settings.Load()
}
