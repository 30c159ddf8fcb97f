package plan

import "mbusproxy/rewrite/splice"

// For returns the plan for the session with that secret: SQL has the secret in its places, and EditReport believes
// markers that bear it. The secret is 16 capital letters and digits.
func (p *Plan) For(secret string) *Plan {
	if secret != "" && len(secret) != splice.SecretLen {
		panic("rewrite: a session's secret of a wrong length")
	}
	q := *p
	q.secret = secret
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
	if p.secret == "" {
		return p.Text().SQL
	}
	return p.Text().WithSecret(p.secret)
}
