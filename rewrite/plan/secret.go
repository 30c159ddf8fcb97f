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
	q.secret, q.sealed = secret, new(sealedText)
	return &q
}

// sealedText is a text that is made when it is first asked for, which it need not be where a
// prepared statement runs it.
type sealedText struct {
	once sync.Once
	sql  string
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
	case p.sealed == nil || len(p.Text().SQL) > longText:
		return p.Text().Filled(p.secretOr(), p.trace)
	}
	p.sealed.once.Do(func() { p.sealed.sql = p.Text().Filled(p.secret, p.trace) })
	return p.sealed.sql
}
