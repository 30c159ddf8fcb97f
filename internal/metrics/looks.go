package metrics

import (
	"context"
	"sync"
	"time"
)

// rest is how many times as long as a look has taken nobody looks again: so that scrapes, however
// many come, take a server about two thirds of a percent of the time of one of its processes.
const rest = 150

// looks remembers, for each database, what was seen last. It is safe for concurrent use.
type looks[V any] struct {
	now func() time.Time // time.Now but for tests

	mu   sync.Mutex
	seen map[string]*look[V]
}

// look is what was seen in a database.
type look[V any] struct {
	mu    sync.Mutex // held while somebody looks: others wait and see the same
	value V
	known bool
	until time.Time // when to look again; zero after a look that has failed
}

// get looks, or returns what was seen a short while ago, or last if ctx has ended. Errors are those of see, and are not remembered.
func (l *looks[V]) get(ctx context.Context, database string, see func(context.Context) (V, error)) (V, error) {
	l.mu.Lock()
	if l.seen == nil {
		l.seen = make(map[string]*look[V])
	}
	k := l.seen[database]
	if k == nil {
		k = &look[V]{}
		l.seen[database] = k
	}
	l.mu.Unlock()
	k.mu.Lock()
	defer k.mu.Unlock()
	began := l.now()
	if began.Before(k.until) || ctx.Err() != nil && k.known {
		return k.value, nil
	}
	k.until = time.Time{}
	v, err := see(ctx)
	if err != nil {
		return v, err
	}
	ended := l.now()
	k.value, k.known, k.until = v, true, ended.Add(rest*ended.Sub(began))
	return v, nil
}

// keep forgets all databases but these.
func (l *looks[V]) keep(databases map[string]bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for name := range l.seen {
		if !databases[name] {
			delete(l.seen, name)
		}
	}
}
