package proxy

import (
	"context"
	"sync"
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

// verifierCache keeps the verifiers of roles that were let in. A role that nobody has proved to know
// the password of is looked up each time: there is nothing to learn from how long a refusal takes, and
// the cache cannot hold more than there are roles.
type verifierCache struct {
	source Verifiers // nil: none

	mu    sync.Mutex
	known map[string]verifier
}

func newVerifierCache(source Verifiers) *verifierCache {
	return &verifierCache{source: source, known: make(map[string]verifier)}
}

func (c *verifierCache) readable(ctx context.Context) bool {
	return c.source != nil && c.source.Readable(ctx)
}

// cached returns the verifier last seen, or one that nothing proves.
func (c *verifierCache) cached(role string) verifier {
	c.mu.Lock()
	defer c.mu.Unlock()
	v, ok := c.known[role]
	v.nobody = !ok
	return v
}

// fetch returns the verifier of now, or one that nothing proves.
func (c *verifierCache) fetch(ctx context.Context, role string) (verifier, error) {
	stored, err := c.source.Verifier(ctx, role)
	if err != nil {
		return verifier{nobody: true}, err
	}
	v, err := parseVerifier(stored)
	if err != nil {
		v = verifier{nobody: true}
	}
	return v, nil
}

func (c *verifierCache) keep(role string, v verifier) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.known[role] = v
}

func (c *verifierCache) drop(role string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.known, role)
}

// proven finds the verifier that a client's proof is good for, the cached one or the one of now. It
// gives the ClientKey; for a bad proof the verifier is nobody's and the key says nothing.
func (c *verifierCache) proven(ctx context.Context, role string, x *scramEnd) (verifier, [scramKeySize]byte, error) {
	v := c.cached(role)
	if key, ok := v.clientKey(x.authMessage, &x.proof); ok {
		return v, key, nil
	}
	v, err := c.fetch(ctx, role)
	if err != nil {
		return v, [scramKeySize]byte{}, err
	}
	key, ok := v.clientKey(x.authMessage, &x.proof)
	if !ok {
		c.drop(role)
		return verifier{nobody: true}, key, nil
	}
	c.keep(role, v)
	return v, key, nil
}
