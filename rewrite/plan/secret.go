package plan

import (
	"sync"

	"mbusproxy/rewrite/splice"
)

// For returns the plan for the session with that secret: SQL has the secret in its places, and EditReport believes
// markers that bear it. The secret is 16 capital letters and digits.
func (p *Plan) For(secret string) *Plan {
	if secret != "" && len(secret) != splice.SecretLen {
		panic("rewrite: a session's secret of a wrong length")
	}
	q := *p
	q.secret = secret
	q.sealed = sync.OnceValue(func() string { return q.Text().Filled(secret, q.trace) })
	return &q
}

// Traced returns the plan with the trace context of its text, which is Session.Trace; "" for none.
func (p *Plan) Traced(trace string) *Plan {
	if p.trace == trace {
		return p
	}
	q := *p
	q.trace, q.sealed = trace, nil
	return &q
}

// secretOr returns the session's secret, or what stands for it in a plan that belongs to no session.
func (p *Plan) secretOr() string {
	if p.secret == "" {
		return splice.BlankSecret
	}
	return p.secret
}

// SQL returns the text for the server.
func (p *Plan) SQL() string {
	switch {
	case p.secret == "" && p.trace == "":
		return p.Text().SQL
	case p.sealed == nil:
		return p.Text().Filled(p.secretOr(), p.trace)
	}
	return p.sealed()
}
