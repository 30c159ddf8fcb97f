package plan

import (
	"mbusproxy/rewrite/splice"
)

// For returns the plan as a session with that secret sends it, and as its reports are edited. The secret is 16
// capital letters and digits.
func (p *Plan) For(secret string) *Plan {
	if secret != "" && len(secret) != splice.SecretLen {
		panic("rewrite: a session's secret of a wrong length")
	}
	q := *p
	q.secret = secret
	return &q
}

// secretOr returns the session's secret.
func (p *Plan) secretOr() string {
	if p.secret == "" {
		return splice.BlankSecret
	}
	return p.secret
}

// SQL returns the text for the server.
func (p *Plan) SQL() string {
	if p.secret == "" {
		return p.server.SQL
	}
	return p.server.WithSecret(p.secret)
}
