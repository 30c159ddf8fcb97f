package model

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"mbusproxy/integration/internal/forms"
	"mbusproxy/integration/internal/harness"
)

// newMessage draws the contents of a message.
func (r *modelRun) newMessage() modelMessage {
	r.number++
	g := modelMessage{n: r.number, k: pick(r, []string{"a", "b"})}
	if r.chance(50) {
		g.p = "x"
	}
	return g
}

func (g *modelMessage) data() string { return fmt.Sprintf("n=>%d, k=>%s", g.n, g.k) }

func (g *modelMessage) properties() any {
	if g.p == "" {
		return nil
	}
	return "p=>" + g.p
}

// newPost draws a post in all its variants.
func (r *modelRun) newPost(s *modelSession) *modelPost {
	p := &modelPost{queue: r.anyQueue(), message: r.newMessage()}
	if r.chance(3) {
		p.queue = "temp.00000000000000000000000000000000.1"
	}
	p.message.delayed = r.anyInstant(70, 8, 15, 7)
	p.message.expires = r.anyInstant(75, 4, 13, 8)
	switch draw := r.random.IntN(100); {
	case draw < 14:
		p.message.iid = fmt.Sprintf("own.%d.%d", r.seed, r.number)
	case draw < 34: // used before, or generated beforehand
		p.message.iid = r.anyIID()
	}
	switch draw := r.random.IntN(100); {
	case draw < 42:
		for range 1 + r.random.IntN(3) {
			p.message.after = append(p.message.after, r.anyIID())
		}
		p.headers = harness.WaitFor(p.message.after...) + ", h=>1"
	case draw < 50:
		p.headers = pick(r, []string{"h=>1", `consume_after=>"{}"`, "consume_after=>null"})
	case draw < 51:
		p.headers, p.malformed = pick(r, []string{"consume_after=>nonsense", "Redeploy=>nonsense"}), true
	case draw < 55:
		p.headers, p.message.kept = pick(r, []string{"Redeploy=>true", "h=>1, Redeploy=>yes"}), true
	case draw < 58:
		p.headers, p.message.from = "destination=>there, Redeploy=>no", "there"
	}
	p.given = p.message.iid != ""
	return p
}

// statement draws how the post is written.
func (r *modelRun) statement(s *modelSession, p *modelPost) forms.Step {
	g := &p.message
	var headers, iid any
	if p.headers != "" {
		headers = p.headers
	}
	if p.given {
		iid = g.iid
	}
	function, args := "mbus4.post($6, ", []any{g.data(), g.properties(), g.delayed.arg(s), g.expires.arg(s), headers, p.queue}
	if r.chance(30) && !strings.Contains(p.queue, ".") {
		function, args = "mbus4.post_"+p.queue+"(", args[:5]
	}
	rest := "$1, properties => $2, delayed_until => $3, expires => $4"
	switch {
	case iid == nil && headers == nil && r.chance(70):
		// The leanest form, with one parameter less.
		if function != "mbus4.post($6, " {
			return forms.Do("select "+function+rest+")", args[:4]...)
		}
		return forms.Do("select mbus4.post($5, "+rest+")", append(args[:4], p.queue)...)
	case iid == nil && r.chance(50):
		return forms.Do("select "+function+rest+", headers => $5)", args...)
	}
	n := len(args) + 1
	args = append(args, iid)
	if r.chance(50) {
		return forms.Do(fmt.Sprintf("select %s$1, $5, $2, $3, $4, $%d)", function, n), args...)
	}
	return forms.Do(fmt.Sprintf("select %s%s, headers := $5, msgiid := $%d)", function, rest, n), args...)
}

// posted checks the iid that a post gave and takes the post over into the model.
func (r *modelRun) posted(s *modelSession, x *modelTx, p *modelPost, w window, iid string) error {
	if p.given && iid != p.message.iid || !p.given && !strings.HasPrefix(iid, p.queue+"."+r.database+".") {
		return fmt.Errorf("the post gives the iid %q", iid)
	}
	r.m.post(s, x, p, w, iid)
	r.remember(iid)
	return nil
}

func (r *modelRun) opPost(s *modelSession) bool { return r.post(s, r.newPost(s)) }

func (r *modelRun) post(s *modelSession, p *modelPost) bool {
	waits, hazy := r.m.postWaits(s, p, time.Now())
	if hazy {
		return false
	}
	e := expected{code: r.m.postRefused(s, p), waits: waits}
	if p.malformed {
		e.waits = never
	}
	return r.serve(s, e, func(x *modelTx, out reply) error {
		return r.posted(s, x, p, out.window, out.text)
	}, r.statement(s, p))
}

// opRetry posts what this transaction received again, to its queue or to dmq.
func (r *modelRun) opRetry(s *modelSession) bool {
	if len(s.iids) == 0 || s.failed {
		return false
	}
	p := r.newPost(s)
	p.message.iid, p.given = pick(r, s.iids), true
	if queue, _, found := strings.Cut(p.message.iid, "."); found && slices.Contains(modelQueues, queue) {
		p.queue = queue
	}
	if r.chance(35) {
		p.queue = "dmq"
	}
	return r.post(s, p)
}

// opPostMany posts several messages with one statement.
func (r *modelRun) opPostMany(s *modelSession) bool {
	first := r.newMessage()
	p := &modelPost{queue: r.anyQueue(), message: first}
	p.message.delayed = r.anyInstant(80, 5, 15, 0)
	last := first.n + 1 + r.random.IntN(20)
	r.number = last
	return r.serve(s, expected{code: r.m.postRefused(s, p)}, func(x *modelTx, out reply) error {
		iids := strings.Split(out.text, "\n")
		if len(iids) != last-first.n+1 {
			return fmt.Errorf("%d posts instead of %d", len(iids), last-first.n+1)
		}
		slices.Sort(iids) // the numbers have as many digits
		for i, line := range iids {
			n, iid, _ := strings.Cut(line, "|")
			if p.message.n = first.n + i; n != fmt.Sprintf("%06d", p.message.n) {
				return fmt.Errorf("n=%s instead of %d", n, p.message.n)
			}
			if err := r.posted(s, x, p, out.window, iid); err != nil {
				return err
			}
		}
		return nil
	}, forms.Do("select to_char(n, 'FM000000'), mbus4.post($1, hstore(array['n', n::text, 'k', $2]), properties => $3, delayed_until => $4) from generate_series($5::int, $6::int) n",
		p.queue, p.message.k, p.message.properties(), p.message.delayed.arg(s), first.n, last))
}

// opBatch posts several messages in one implicit transaction: where one fails, none is posted.
func (r *modelRun) opBatch(s *modelSession) bool {
	var posts []*modelPost
	var steps []forms.Step
	for range 2 + r.random.IntN(3) {
		p := r.newPost(s)
		if waits, hazy := r.m.postWaits(s, p, time.Now()); waits != never || hazy {
			return false
		}
		posts = append(posts, p)
		steps = append(steps, r.statement(s, p))
	}
	e := expected{}
	copies := len(r.m.copies)
	draft := &modelTx{owner: s}
	for _, p := range posts {
		if e.code = r.m.postRefused(s, p); e.code != "" {
			break
		}
		// A later one sees it; a window that has not been yet does not matter here.
		r.m.post(s, draft, p, soon(), p.message.iid)
	}
	draft.state = txAborted
	for _, c := range r.m.copies[:copies] {
		c.locks = slices.DeleteFunc(c.locks, func(x *modelTx) bool { return x == draft })
	}
	r.m.copies = r.m.copies[:copies]
	return r.serve(s, e, func(x *modelTx, out reply) error {
		for i, iid := range strings.Split(out.text, "\n") {
			if err := r.posted(s, x, posts[i], out.window, iid); err != nil {
				return err
			}
		}
		return nil
	}, steps...)
}

// got notes that the session received messages.
func (r *modelRun) got(s *modelSession, rows []got) {
	for _, g := range rows {
		r.remember(g.iid)
		r.counts["messages received"]++
		if len(s.stack) > 0 {
			s.iids = append(s.iids, g.iid)
		}
	}
}

// opConsume consumes one message or several.
func (r *modelRun) opConsume(s *modelSession) bool {
	queue, name, _ := r.anyConsumer(s)
	amount := 1
	if r.chance(35) {
		amount = r.random.IntN(12)
	}
	return r.consume(s, queue, name, amount)
}

func (r *modelRun) consume(s *modelSession, queue, name string, amount int) bool {
	r.Helper()
	statements := []forms.Step{
		forms.Do("select "+gotColumns+" from mbus4.consumen($1, $2, $3) m", queue, name, amount),
		forms.Do("select "+gotColumns+fmt.Sprintf(" from mbus4.consumen_%s_by_%s($1) m", queue, name), amount),
		forms.Do("with x as (select mbus4.consume($1, $2) as m from generate_series(1, $3::int)) select "+gotColumns+" from x", queue, name, amount),
	}
	if amount == 1 {
		statements = append(statements,
			forms.Do("select "+gotColumns+" from mbus4.consume($1, $2) m", queue, name),
			forms.Do("select "+gotColumns+" from mbus4.consume($1, cname => $2) m", queue, name),
			forms.Do("select "+gotColumns+fmt.Sprintf(" from mbus4.consume_%s_by_%s() m", queue, name)),
			forms.Do("with x as (select mbus4.consume($1, $2) as m) select "+gotColumns+" from x", queue, name),
			forms.Do("select "+gotColumns+" from mbus4.consume($1, $2, wait => '30 ms') m", queue, name))
	}
	if amount > 1 && r.chance(20) {
		statements = append(statements, forms.Do("select "+gotColumns+" from mbus4.consumen($1, $2, $3, wait => '10 ms') m", queue, name, amount))
	}
	chosen := pick(r, statements)
	return r.consumeBy(s, queue, name, amount, 0, chosen)
}

func (r *modelRun) consumeBy(s *modelSession, queue, name string, amount, selector int, statement forms.Step) bool {
	r.Helper()
	c := r.m.consumer(s, queue, name)
	e := expected{}
	if c == nil {
		e.code = "42704"
		if amount == 0 && strings.HasPrefix(statement.SQL, "with") {
			e.code = "" // it is not called
		}
	}
	return r.serve(s, e, func(x *modelTx, out reply) error {
		rows := parseGot(out.text)
		r.got(s, rows)
		return r.m.consumed(s, x, c, amount, selector, rows, out.window, r.database)
	}, statement)
}

// opDynConsume consumes with a selector of the moment.
func (r *modelRun) opDynConsume(s *modelSession) bool {
	queue, name, _ := r.anyConsumer(s)
	selector := 1 + r.random.IntN(3)
	text := modelSelectors[selector]
	return r.consumeBy(s, queue, name, 1, selector, pick(r, []forms.Step{
		forms.Do("select "+gotColumns+" from mbus4.dyn_consume($1, $2, $3) m", queue, text, name),
		forms.Do("select "+gotColumns+" from mbus4.dyn_consume($1, "+quoted(text)+", $2) m", queue, name),
		forms.Do("select "+gotColumns+" from mbus4.dyn_consume(qname => $1, cname => $2, selector => $3) m", queue, name, text),
	}))
}

// opPutBack consumes a message and posts it again, under its iid, in one statement.
func (r *modelRun) opPutBack(s *modelSession) bool {
	queue, name, c := r.anyConsumer(s)
	if c == nil || r.others(s) {
		return false
	}
	to := queue
	if r.chance(30) {
		to = "dmq"
	}
	headers, keeps := "null", r.chance(50)
	if keeps {
		headers = "slice(m.headers, array['destination'])"
	}
	// Which message it is, and so whether it can be posted, shows only then.
	e := expected{or: []string{"23505"}}
	return r.serve(s, e, func(x *modelTx, out reply) error {
		rows := parseGot(out.text)
		r.got(s, rows)
		if err := r.m.consumed(s, x, c, 1, 0, rows, out.window, r.database); err != nil || len(rows) == 0 {
			return err
		}
		p := &modelPost{queue: to, given: true, message: modelMessage{iid: rows[0].iid}}
		if keeps {
			p.message.from = rows[0].destination
		}
		for _, d := range r.m.copies {
			if d.iid == p.message.iid && d.to == c && d.gone == x {
				p.message.n, p.message.k = d.n, d.k
			}
		}
		r.m.post(s, x, p, out.window, p.message.iid)
		return nil
	}, forms.Do("select mbus4.post($3, m.data, "+headers+", iid => m.iid)"+strings.TrimPrefix(gotColumns, "(m).iid")+" from mbus4.consume($1, $2) m", queue, name, to))
}

// others reports whether another session is in a transaction.
func (r *modelRun) others(s *modelSession) bool {
	return slices.ContainsFunc(r.sessions, func(o *modelSession) bool { return o != s && len(o.stack) > 0 })
}
