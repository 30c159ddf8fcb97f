package pipeline

import (
	"sync/atomic"
	"time"

	"mbusproxy/proxy/memory"
	"mbusproxy/proxy/statements"
	"mbusproxy/proxy/wire"
)

// Flows are the two directions of one session. They share what the server has reported of its
// settings, and the table of names.
type Flows struct {
	Up       ClientFlow
	Down     serverFlow
	settings atomic.Pointer[wire.Settings] // as last reported; Down writes, Up reads
}

// SessionInfo is what startup has found out about a session.
type SessionInfo struct {
	Rewriter       statements.Rewriter // nil: bytes pass as they are
	Secret         string              // statements.Context.Secret
	User, Database string
	Began          time.Time     // statements.Context.Began
	Settings       wire.Settings // as reported up to the first ReadyForQuery
	Txn            byte          // the status in it
	Key            wire.CancelKey
}

// PreparedSoFar is how many statements the proxy has prepared in the session. Any goroutine may ask.
func (f *Flows) PreparedSoFar() uint64 { return uint64(f.Down.ours.made.Load()) }

// Begin is called once, before the first feed and before Share.
func (f *Flows) Begin(l SessionInfo) {
	f.settings.Store(&l.Settings)
	f.Up = ClientFlow{
		rewriter: l.Rewriter, secret: l.Secret, user: l.User, database: l.Database, began: l.Began, settings: &f.settings, names: &f.Down.names, ours: &f.Down.ours,
	}
	f.Up.prepared = newPrepared(l.Key)
	f.Down = serverFlow{rewriter: l.Rewriter, secret: l.Secret, database: l.Database, Settings: &f.settings}
	f.Down.Txn = l.Txn
}

// Share is called once, before the first feed, with the memory that all sessions share: for long
// messages, and to remember texts. stopBuffering is called, by another session, when the long
// message being buffered is to be forwarded unread, and look from time to time while the Rewriter
// has a statement, to end a session whose client is gone.
func (f *Flows) Share(long *memory.LongMessages, remembered *memory.Budget, stopBuffering, look func(), gone func() bool) {
	f.Up.buffered = long.Share(f.Up.user, stopBuffering)
	f.Up.atHand.Watch(look, gone)
	f.Down.names.Share(remembered)
}
