package proxy

import "sync/atomic"

// flows are the two directions of one session. What they share is what the server has reported of its settings.
type flows struct {
	up       clientFlow
	down     serverFlow
	settings atomic.Pointer[settings] // as last reported; down writes, up reads
}

// facts is what startup has found out about a session.
type facts struct {
	rewriter       Rewriter // nil: bytes pass as they are
	secret         string   // StatementContext.Secret
	user, database string
	settings       settings // as reported up to the first ReadyForQuery
	txn            byte     // the status in it
}

// begin is called once, before the first feed.
func (f *flows) begin(l facts) {
	f.settings.Store(&l.settings)
	f.up = clientFlow{
		rewriter: l.rewriter, secret: l.secret, user: l.user, database: l.database, settings: &f.settings,
	}
	f.down = serverFlow{rewriter: l.rewriter, secret: l.secret, settings: &f.settings}
	f.down.txn = l.txn
}

// share is called once, before the first feed, with the memory that all sessions share. letGo is called, by another
// session, when the long message being gathered is to be let go, and look from time to time while the Rewriter has a statement, to end
// a session whose client is gone.
func (f *flows) share(long *longMessages, remembered *budget, letGo, look func()) {
	f.up.gathered = long.share(letGo)
	f.up.holding.look = look
	f.down.names.statements.budget, f.down.names.portals.budget = remembered, remembered
}
