package auth

import (
	"context"
	"sync"
	"time"

	"mbusproxy/proxy/scram"
)

// Verifiers reads what the server keeps of passwords. Implementations are safe for concurrent use.
type Verifiers interface {
	// Readable reports whether Verifier can be expected to work. It is asked before each login that
	// might need one.
	Readable(ctx context.Context) bool
	// Verifier returns rolpassword of a role as it is now, "" where there is no such role or it has
	// no password. Both take the same time.
	Verifier(ctx context.Context, role string) (string, error)
}

const (
	verifierLife  = time.Minute // how long a verifier that was read is kept
	mostVerifiers = 1000        // kept at once; at most 150 bytes each, and a name
)

// Cache keeps the verifiers of roles that were let in, for a while: that of a role that was dropped or has
// another password leaves memory when the server refuses the login, or when its time is over. A role that nobody
// has proved to know the password of is looked up each time: there is nothing to learn from how long a
// refusal takes.
type Cache struct {
	source Verifiers // nil: none
	life   time.Duration

	mu    sync.Mutex
	known map[string]knownVerifier
	timer *time.Timer // runs expire; nil while nothing is known
}

type knownVerifier struct {
	scram.Verifier
	until time.Time
}

// NewCache has nothing yet; source may be nil, and then no verifier is ever readable.
func NewCache(source Verifiers) *Cache {
	return &Cache{source: source, life: verifierLife, known: make(map[string]knownVerifier)}
}

func (c *Cache) readable(ctx context.Context) bool {
	return c.source != nil && c.source.Readable(ctx)
}

// cached returns the verifier last seen, or one that nothing proves.
func (c *Cache) cached(role string) scram.Verifier {
	c.mu.Lock()
	defer c.mu.Unlock()
	v, ok := c.known[role]
	if !ok || !time.Now().Before(v.until) {
		return scram.Verifier{Nobody: true}
	}
	return v.Verifier
}

// fetch returns the verifier of now, or one that nothing proves.
func (c *Cache) fetch(ctx context.Context, role string) (scram.Verifier, error) {
	stored, err := c.source.Verifier(ctx, role)
	if err != nil {
		return scram.Verifier{Nobody: true}, err
	}
	v, err := scram.ParseVerifier(stored)
	if err != nil {
		v = scram.Verifier{Nobody: true}
	}
	return v, nil
}

func (c *Cache) keep(role string, v scram.Verifier) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.known) >= mostVerifiers {
		for other := range c.known { // whichever comes first: it is looked up again
			delete(c.known, other)
			break
		}
	}
	c.known[role] = knownVerifier{v, time.Now().Add(c.life)}
	if c.timer == nil {
		c.timer = time.AfterFunc(c.life, c.expire)
	}
}

// expire forgets what is too old, and comes again while there is anything left.
func (c *Cache) expire() {
	c.mu.Lock()
	defer c.mu.Unlock()
	now := time.Now()
	for role, v := range c.known {
		if !now.Before(v.until) {
			delete(c.known, role)
		}
	}
	if len(c.known) == 0 {
		c.timer = nil
		return
	}
	c.timer.Reset(c.life)
}

// drop forgets the verifier of a role.
func (c *Cache) drop(role string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.known, role)
}

// proven finds the verifier that a client's proof is good for, the cached one or the one of now. It
// gives the ClientKey; for a bad proof the verifier is nobody's and the key says nothing.
func (c *Cache) proven(ctx context.Context, role string, x *scram.Server) (scram.Verifier, [scram.KeySize]byte, error) {
	v := c.cached(role)
	if key, ok := x.Proves(&v); ok {
		return v, key, nil
	}
	v, err := c.fetch(ctx, role)
	if err != nil {
		return v, [scram.KeySize]byte{}, err
	}
	key, ok := x.Proves(&v)
	if !ok {
		c.drop(role)
		return scram.Verifier{Nobody: true}, key, nil
	}
	c.keep(role, v)
	return v, key, nil
}
