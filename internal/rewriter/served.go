package rewriter

import (
	"context"
	"sync"
	"time"

	"mbusproxy/proxy/statements"
	"mbusproxy/rewrite/parse"
	"mbusproxy/rewrite/plan"
	"mbusproxy/sqlfuncs"
)

const (
	// servedRoles bounds how many roles each of the two halves of servedClients holds.
	servedRoles = 4096
	// servedFor is how long a role is at least known to be served, and at most for twice that.
	servedFor = 10 * time.Minute
)

// servedClients remembers which roles the server has let run a call, in which databases: they have
// a right to the schema. Nobody is asked for that, and the client's own word does not count. Of a role that
// has called nothing for a while it is forgotten. It is safe for concurrent use.
type servedClients struct {
	now func() time.Time

	mu sync.RWMutex
	// recent are those noted since began, and older those of the time before.
	recent, older map[servedKey]struct{}
	began         time.Time
}

type servedKey struct{ database, role string }

func newServedClients() *servedClients {
	return &servedClients{now: time.Now, recent: map[servedKey]struct{}{}, began: time.Now()}
}

// note notes that the role of a session has run a call.
func (s *servedClients) note(k servedKey) {
	s.mu.RLock()
	_, known := s.recent[k]
	s.mu.RUnlock()
	if known {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.turnOver()
	if len(s.recent) >= servedRoles {
		s.older, s.recent = s.recent, map[servedKey]struct{}{}
	}
	s.recent[k] = struct{}{}
}

// knows reports whether the role is known to be served in the database.
func (s *servedClients) knows(k servedKey) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.turnOver()
	_, recent := s.recent[k]
	_, older := s.older[k]
	return recent || older
}

// turnOver forgets what is old. mu is held.
func (s *servedClients) turnOver() {
	now := s.now()
	switch age := now.Sub(s.began); {
	case age < servedFor:
		return
	case age < 2*servedFor:
		s.older = s.recent
	default:
		s.older = nil
	}
	s.recent, s.began = map[servedKey]struct{}{}, now
}

// caller is the client that a plan is for. The zero caller is nobody.
type caller struct {
	served *servedClients
	servedKey
}

func (r *Rewriter) caller(sc statements.Context) caller {
	return caller{r.served, servedKey{sc.Database, sc.User}}
}

// context returns a context whose texts are parsed for the client.
func (c caller) context(ctx context.Context) context.Context {
	if c.served == nil {
		return ctx
	}
	return parse.For(ctx, parse.Client{Database: c.database, Role: c.role, Served: c.served.knows(c.servedKey)})
}

// ran notes that the server has run a plan for the client. The texts that serve calls name objects of the schema, for
// which the server wants the right to it, but for those that are constants (TestWhoIsServed).
func (c caller) ran(p *plan.Plan) {
	if c.served == nil || len(p.Refused()) > 0 {
		return
	}
	for f := range p.Functions() {
		if f.Effect != sqlfuncs.Reads || len(f.Params) > 0 {
			c.served.note(c.servedKey)
			return
		}
	}
}
