package engine

import (
	"context"
	"sync"
	"time"

	"go.uber.org/zap"

	"mbusproxy/engine/admin"
	"mbusproxy/engine/refusal"
	"mbusproxy/engine/schema"
)

const (
	questionsAtOnce = 4    // connections that ask about databases for one role
	mostRefusals    = 1000 // that are remembered
)

// questions are those whether a database may be opened for a role. Each takes a connection to the
// database, so that a role has few at a time, and a refusal is remembered for failureMemory. It is
// safe for concurrent use.
type questions struct {
	mu      sync.Mutex
	turns   map[string]*turns // by role
	refused map[question]refused
}

type question struct{ database, role string }

type refused struct {
	err   error
	until time.Time
}

// turns are those of one role. They are there while somebody has one or waits for one.
type turns struct {
	places chan struct{} // one for each of questionsAtOnce
	users  int
}

func newQuestions() *questions {
	return &questions{turns: map[string]*turns{}, refused: map[question]refused{}}
}

// enter waits for a turn of the role's, which leave ends.
func (q *questions) enter(ctx context.Context, role string) (leave func(), err error) {
	q.mu.Lock()
	t := q.turns[role]
	if t == nil {
		t = &turns{places: make(chan struct{}, questionsAtOnce)}
		q.turns[role] = t
	}
	t.users++
	q.mu.Unlock()
	gone := func() {
		q.mu.Lock()
		defer q.mu.Unlock()
		if t.users--; t.users == 0 {
			delete(q.turns, role)
		}
	}
	select {
	case t.places <- struct{}{}:
		return func() { <-t.places; gone() }, nil
	case <-ctx.Done():
		gone()
		return nil, ctx.Err()
	}
}

// recall gives the refusal that a question has met of late, nil where there was none.
func (q *questions) recall(asked question) error {
	q.mu.Lock()
	defer q.mu.Unlock()
	if r := q.refused[asked]; time.Now().Before(r.until) {
		return r.err
	}
	return nil
}

// remember keeps a refusal for a while. Where there are too many, those that are over go, or all.
func (q *questions) remember(asked question, err error) {
	q.mu.Lock()
	defer q.mu.Unlock()
	now := time.Now()
	if len(q.refused) >= mostRefusals {
		for other, r := range q.refused {
			if now.After(r.until) {
				delete(q.refused, other)
			}
		}
		if len(q.refused) >= mostRefusals {
			clear(q.refused)
		}
	}
	q.refused[asked] = refused{err, now.Add(failureMemory)}
}

// mayOpen returns nil where a database may be opened for a client that has logged in as role, or
// somebody has done so meanwhile. Failures are as those of Database.
func (e *Engine) mayOpen(ctx context.Context, name, role string) error {
	if e.how.NoInit {
		return nil
	}
	asked := question{name, role}
	if err := e.questions.recall(asked); err != nil {
		return err
	}
	leave, err := e.questions.enter(ctx, role)
	if err != nil {
		return err
	}
	defer leave()
	if err := e.questions.recall(asked); err != nil || e.known(name) {
		return err
	}
	return e.ask(ctx, asked)
}

// ask asks, and remembers a failure unless it may be over at once, as for attempt.
func (e *Engine) ask(ctx context.Context, asked question) error {
	e.mu.Lock()
	if e.closed {
		e.mu.Unlock()
		return nil // which lookup says
	}
	limited, cancel := e.untilStop(ctx)
	e.mu.Unlock()
	defer cancel()
	limited, cancelTimeout := context.WithTimeout(limited, openTimeout)
	defer cancelTimeout()
	conn, err := e.server.Connect(limited, asked.database)
	if err == nil {
		defer admin.Close(ctx, conn)
		err = schema.MayOpen(limited, conn, asked.role)
	}
	switch {
	case err == nil || ctx.Err() != nil:
		return ctx.Err()
	case e.stopped():
		return nil
	}
	said := refusal.Wrap("looking for schema mbus4 in database "+asked.database, err)
	e.log.Warn("database not served", zap.String("database", asked.database), zap.String("role", asked.role), zap.Error(said))
	if passing(said) {
		return said
	}
	e.questions.remember(asked, said)
	return said
}

func (e *Engine) stopped() bool {
	select {
	case <-e.stop:
		return true
	default:
		return false
	}
}

// passing reports whether a database that could not be opened may be there at once: it was dropped, and may have been made again.
func passing(err error) bool {
	code := refusal.SQLState(err)
	return code == refusal.InvalidCatalog || code == refusal.AdminShutdown
}
