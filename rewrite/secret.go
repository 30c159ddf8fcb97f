package rewrite

import "strings"

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
		return p.server.sql
	}
	return p.server.withSecret(p.secret)
}

// writeSecret writes the place of the secret.
func (o *output) writeSecret(anchor int) {
	o.segs = append(o.segs, segment{out: o.b.Len(), in: anchor, secret: true})
	o.b.WriteString(blankSecret)
	o.last = blankSecret[secretLen-1]
}

// writeMarked writes text of the engine's with {k} in it: the call's number, and in a literal the secret
// behind it. other gives what stands for any other placeholder, or writes it; nil where there is none.
func (o *output) writeMarked(text, number string, anchor int, other func(placeholder string) (string, func())) {
	literal := false
	var b strings.Builder
	flush := func() {
		o.write(b.String(), anchor)
		b.Reset()
	}
	for {
		open := strings.IndexByte(text, '{')
		length := strings.IndexByte(text[max(open, 0):], '}') + 1
		if open < 0 || length == 0 {
			break
		}
		b.WriteString(text[:open])
		literal = literal != (strings.Count(text[:open], "'")%2 == 1)
		placeholder := text[open : open+length]
		text = text[open+length:]
		if placeholder == "{k}" {
			b.WriteString(number)
			if !literal {
				continue
			}
			b.WriteByte(' ')
			placeholder = "{secret}"
		}
		if placeholder == "{secret}" {
			flush()
			o.writeSecret(anchor)
			continue
		}
		fill, emit := placeholder, (func())(nil) // unknown ones stay, such as {1,32} in a regular expression
		if other != nil {
			fill, emit = other(placeholder)
		}
		b.WriteString(fill)
		if emit != nil {
			flush()
			emit()
		}
	}
	b.WriteString(text)
	flush()
}

// withMark fills {k} in text of the engine's that goes to the server at once, rather than with a plan: the
// call's number, and in a literal the secret behind it.
func withMark(text, number, secret string) string {
	o := &output{}
	o.writeMarked(text, number, 0, nil)
	return o.spliced().withSecret(secret)
}
