package pipeline

import (
	"slices"
	"strings"

	"mbusproxy/proxy/pipeline/requests"
	"mbusproxy/proxy/wire"
)

// Of settings the proxy knows what the server has reported, and the server reports them before
// ReadyForQuery only. While requests are outstanding, any statement that they run may have changed
// them: by SET, in a function, by ROLLBACK. If a text for the Rewriter may mean something else
// then, a probe query is sent before it. Within one Query nothing changes: the server splits it
// into statements before it runs the first.

// settingsProbe is the probe query for the settings on which the meaning of a text depends. Under all settings it means
// the same itself.
const settingsProbe = "select pg_catalog.concat_ws(' ', pg_catalog.current_setting('standard_conforming_strings'), pg_catalog.current_setting('client_encoding'))"

// told are the settings by which the message being looked at is read.
type told struct {
	asked  bool           // the probe query under way is settingsProbe
	answer *wire.Settings // nil for those that were reported
}

// unsure reports whether the message may mean something else than it means under the settings that were reported.
func (f *ClientFlow) unsure(frame []byte) bool {
	if f.rewriter == nil || !isWhole(frame) {
		return false
	}
	body := frame[wire.HeaderSize:]
	switch frame[0] {
	case wire.MsgQuery, wire.MsgParse:
		return f.varies(body) && (f.forRewriter(frame) || f.bindTime != nil && f.rewriter.MayHaveEffects(body))
	case wire.MsgBind:
		if f.bindTimeText(frame) == nil {
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

// varies reports whether a text may mean something else under the settings that the session may have by then than it
// means under those that were reported.
func (f *ClientFlow) varies(text []byte) bool {
	if f.probing.told.answer != nil || !slices.ContainsFunc(text, func(c byte) bool { return c >= 0x80 || c == '\\' }) {
		return false
	}
	return f.before.Outstanding > 0 || slices.ContainsFunc(f.requests, request.runs)
}

// probeSettings returns the messages of settingsProbe for the message in frame.
func (f *ClientFlow) probeSettings(frame []byte) (messages []byte) {
	f.probing.told.asked = true
	switch {
	case frame[0] != wire.MsgQuery:
		return f.pose(settingsProbe, f.probing.forParse())
	case f.probing.unsynced:
		return f.pose(settingsProbe, behindOpen)
	default:
		return f.pose(settingsProbe, asQuery)
	}
}

// takeSettings takes the answer to settingsProbe. If that has failed, it is dealt with as any other probe query.
func (f *ClientFlow) takeSettings() {
	p := &f.probing
	if !p.told.asked {
		return
	}
	p.told.asked = false
	if p.answered.Is() != requests.Done {
		return
	}
	strings, encoding, _ := strings.Cut(p.answered.answer, " ")
	now := *f.settings.Load()
	now.EscapeStrings, now.Encoding = strings == "off", encoding
	p.told.answer, p.answered = &now, nil
}

// reads are the settings with which the message being looked at is read.
func (f *ClientFlow) reads() *wire.Settings {
	if now := f.probing.told.answer; now != nil {
		return now
	}
	return f.settings.Load()
}
