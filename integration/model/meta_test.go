package model

import (
	"slices"
	"strings"

	"mbusproxy/integration/internal/forms"
)

// opCreateQueue creates a queue, which may exist.
func (r *modelRun) opCreateQueue(s *modelSession) bool {
	return r.createQueue(s, pick(r, modelQueues))
}

func (r *modelRun) createQueue(s *modelSession, name string) bool {
	e := expected{}
	for _, q := range r.m.queues {
		if q.name != name {
			continue
		}
		// Another's new row, or one that another removes or updates.
		if q.made.foreign(s) || q.made.counts(s) && q.held(s) {
			e.waits = surely
		}
	}
	if r.chance(3) {
		name, e = "Q-"+name, expected{code: "42602"}
	}
	return r.serve(s, e, func(x *modelTx, _ reply) error {
		if q := r.m.queue(s, name); q != nil {
			q.locks = append(q.locks, x)
			return nil
		}
		q := &modelQueue{modelRow{made: x}, name}
		r.m.queues = append(r.m.queues, q)
		r.m.consumers = append(r.m.consumers, &modelConsumer{modelRow: modelRow{made: x}, queue: name, name: "default", of: q})
		return nil
	}, forms.Do("select mbus4.create_queue($1, $2)", name, 1+r.random.IntN(4)))
}

// opDropQueue drops a queue, with its consumers, triggers and messages.
func (r *modelRun) opDropQueue(s *modelSession) bool { return r.dropQueue(s, r.anyQueue()) }

func (r *modelRun) dropQueue(s *modelSession, name string) bool {
	e := expected{}
	q := r.m.queue(s, name)
	switch {
	case q == nil:
		e.code = "42704"
	case name == "dmq":
		e.code = "42809"
	case q.held(s):
		e.waits = surely
	}
	var going []*modelConsumer
	for _, c := range r.m.consumers {
		if q == nil {
			break
		}
		if c.of == q && c.made.foreign(s) {
			e.waits = surely // it keeps its queue
		}
		if c.visible(s) && (c.of == q || c.target == name || c.target != "" && c.queue == name && c.of == nil) {
			going = append(going, c)
			if e.code == "" && c.held(s) {
				e.waits = surely
			}
		}
	}
	if e.code != "" {
		e.waits = never
	}
	return r.serve(s, e, func(x *modelTx, _ reply) error {
		q.gone = x
		for _, c := range going {
			c.gone = x
		}
		return nil
	}, forms.Do("select mbus4.drop_queue($1)", name))
}

// newConsumer says what becomes of a consumer or trigger that is to be added.
func (r *modelRun) newConsumer(s *modelSession, c *modelConsumer) expected {
	e := expected{}
	for _, d := range r.m.consumers {
		if d.queue != c.queue || d.name != c.name || d.target != c.target {
			continue
		}
		switch {
		case d.made.foreign(s) || d.made.counts(s) && d.held(s):
			e.waits = surely
		case d.visible(s):
			e.code = "42710"
		}
	}
	if e.waits != never {
		e.code = ""
	}
	if e.code == "" && c.of != nil && c.of.gone.foreign(s) {
		e.waits = surely
	}
	return e
}

func (r *modelRun) opCreateConsumer(s *modelSession) bool {
	return r.createConsumer(s, r.anyQueue(), pick(r, modelConsumers), r.random.IntN(3))
}

func (r *modelRun) createConsumer(s *modelSession, queue, name string, selector int) bool {
	c := &modelConsumer{queue: queue, name: name, of: r.m.queue(s, queue), selector: selector}
	e := expected{code: "42704"}
	switch {
	case queue == "dmq":
		e.code = "42809"
	case c.of != nil:
		e = r.newConsumer(s, c)
	}
	args := []any{queue, name}
	if r.chance(20) {
		args = []any{name, queue} // the order of older programs
	}
	statement := forms.Do("select mbus4.create_consumer($1, $2, $3)", append(args, nil)...)
	if text := modelSelectors[selector]; text != "" {
		statement.Args[2] = text
		if r.chance(50) {
			statement = forms.Do("select mbus4.create_consumer($1, $2, p_selector => "+quoted(text)+")", args...)
		}
	}
	return r.serve(s, e, func(x *modelTx, _ reply) error {
		c.made = x
		r.m.consumers = append(r.m.consumers, c)
		return nil
	}, statement)
}

func quoted(text string) string { return "'" + strings.ReplaceAll(text, "'", "''") + "'" }

func (r *modelRun) opDropConsumer(s *modelSession) bool {
	queue, name, c := r.anyConsumer(s)
	e := expected{}
	switch {
	case c == nil:
		e.code = "42704"
	case queue == "dmq":
		e.code = "42809"
	case c.held(s):
		e.waits = surely
	}
	args := []any{queue, name}
	if r.chance(20) && c != nil {
		args = []any{name, queue}
	}
	return r.serve(s, e, func(x *modelTx, _ reply) error {
		c.gone = x
		return nil
	}, forms.Do("select mbus4.drop_consumer($1, $2)", args...))
}

func (r *modelRun) opCreateTrigger(s *modelSession) bool {
	return r.createTrigger(s, pick(r, modelQueues), r.anyQueue(), r.random.IntN(3))
}

func (r *modelRun) createTrigger(s *modelSession, from, to string, selector int) bool {
	c := &modelConsumer{queue: from, target: to, of: r.m.queue(s, from), selector: selector}
	e := r.newConsumer(s, c)
	if from == to || r.leads(s, to, from, nil) {
		e = expected{code: "42P17"}
	}
	var text any
	if selector != 0 {
		text = modelSelectors[selector]
	}
	return r.serve(s, e, func(x *modelTx, _ reply) error {
		c.made = x
		r.m.consumers = append(r.m.consumers, c)
		return nil
	}, forms.Do("select mbus4.create_trigger($1, $2, $3)", from, to, text))
}

// leads reports whether triggers lead from one queue to another.
func (r *modelRun) leads(s *modelSession, from, to string, past []string) bool {
	return slices.ContainsFunc(r.m.consumers, func(c *modelConsumer) bool {
		return c.target != "" && c.queue == from && c.visible(s) && !slices.Contains(past, c.target) &&
			(c.target == to || r.leads(s, c.target, to, append(past, from)))
	})
}

func (r *modelRun) opDropTrigger(s *modelSession) bool {
	from, to := pick(r, modelQueues), r.anyQueue()
	for _, c := range r.m.consumers {
		if c.target != "" && c.visible(s) && r.chance(60) {
			from, to = c.queue, c.target
		}
	}
	return r.dropTrigger(s, from, to)
}

func (r *modelRun) dropTrigger(s *modelSession, from, to string) bool {
	e := expected{}
	var trigger *modelConsumer
	for _, c := range r.m.consumers {
		if c.target == to && c.queue == from && c.visible(s) {
			trigger = c
			e.waits = sure(c.held(s))
		}
	}
	return r.serve(s, e, func(x *modelTx, _ reply) error {
		if trigger != nil {
			trigger.gone = x
		}
		return nil
	}, forms.Do("select mbus4.drop_trigger($1, $2)", from, to))
}
