package rewrite

import (
	"strconv"

	"mbusproxy/sqlfuncs"
)

// A marker (see Markers) must not be believed because it looks like one: a message's data that a client casts
// to integer may hold the same words. So it also holds a secret of the session, which nobody who writes such
// data can know. It stands in no table and no function; what shows a statement's text (pg_stat_activity,
// current_query(), logs) shows it to the session itself, to its role and to those who administrate the
// server, and it is worth nothing in any other session.
//
// Plans are shared between sessions, so a plan's text holds blankSecret, of the same length, and the places
// of it are segments of their own, which Plan.For fills.

// secretLen is the length of a secret in bytes.
const secretLen = 16

// blankSecret stands for the secret in the text of a plan that belongs to no session yet.
const blankSecret = "_session_secret_"

// For returns the plan as a session with that secret sends it, and as its reports are edited. The secret is 16
// capital letters and digits.
func (p *Plan) For(secret string) *Plan {
	if secret != "" && len(secret) != secretLen {
		panic("rewrite: a session's secret of a wrong length")
	}
	q := *p
	q.secret = secret
	return &q
}

// secretOr returns the session's secret.
func (p *Plan) secretOr() string {
	if p.secret == "" {
		return blankSecret
	}
	return p.secret
}

// SQL returns the text for the server.
func (p *Plan) SQL() string {
	if p.secret == "" {
		return p.sql
	}
	var b []byte
	for _, s := range p.segs {
		if s.secret {
			if b == nil {
				b = []byte(p.sql)
			}
			copy(b[s.out:s.out+secretLen], p.secret)
		}
	}
	if b == nil {
		return p.sql
	}
	return string(b)
}

// writeSecret writes the place of the secret.
func (o *output) writeSecret(anchor int) {
	o.segs = append(o.segs, segment{out: o.b.Len(), in: anchor, secret: true})
	o.b.WriteString(blankSecret)
	o.last = blankSecret[secretLen-1]
}

// mark is what error markers hold of a call: its number in the text and the place of the secret.
func mark(number int) string { return strconv.Itoa(number) + " " + sqlfuncs.SecretPlace }
