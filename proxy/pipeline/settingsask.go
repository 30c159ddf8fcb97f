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

// settingsQuestion asks for what a text's meaning depends on. It reads the same under all settings.
const settingsQuestion = "select pg_catalog.concat_ws(' ', pg_catalog.current_setting('standard_conforming_strings'), pg_catalog.current_setting('client_encoding'))"

// told are the settings that the session has told about for the message being looked at.
type told struct {
	asked  bool           // the question under way is about settings
	answer *wire.Settings // nil: as reported
}

// unsure reports whether the message may be read differently from what the reported settings make of it.
func (f *ClientFlow) unsure(frame []byte) bool {
	if f.rewriter == nil || f.asking.told.answer != nil || f.before.Outstanding+len(f.news) == 0 || !isWhole(frame) {
		return false
	}
	body := frame[wire.HeaderSize:]
	switch frame[0] {
	case wire.MsgQuery, wire.MsgParse:
		return varies(body) && (f.forRewriter(frame) || f.late != nil && mayAct(body))
	case wire.MsgBind:
		if f.late == nil || !f.late.asks(frame) {
			return false
		}
		values, _ := wire.ReadValues(body)
		for n := 1; n <= values.Len(); n++ {
			if v, _ := values.Get(n); varies(v.Bytes) {
				return true
			}
		}
	}
	return false
}

// varies reports whether a text may mean something else under other settings.
func varies(text []byte) bool {
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

// askSettings returns the messages that ask for the settings before the message in frame.
func (f *ClientFlow) askSettings(frame []byte) (messages []byte) {
	f.asking.told.asked = true
	simple := frame[0] == wire.MsgQuery && !f.asking.unsynced
	return f.pose(settingsQuestion, simple, !simple && !f.asking.unsynced && !f.asking.copied)
}

// settled takes the answer to a question about settings. One that failed is left to be dealt with as any other.
func (f *ClientFlow) settled() {
	a := &f.asking
	if !a.told.asked {
		return
	}
	a.told.asked = false
	if a.answered.outcome.Load() != deedDone {
		return
	}
	strings, encoding, _ := strings.Cut(a.answered.answer, " ")
	now := *f.settings.Load()
	now.EscapeStrings, now.Encoding = strings == "off", encoding
	a.told.answer, a.answered = &now, nil
}

// reads are the settings with which the message being looked at is read.
func (f *ClientFlow) reads() *wire.Settings {
	if now := f.asking.told.answer; now != nil {
		return now
	}
	return f.settings.Load()
}
