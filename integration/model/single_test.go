package model

import (
	"fmt"

	"mbusproxy/integration/internal/forms"
	"mbusproxy/integration/internal/harness"
)

// opTake takes a message by its iid, for everybody.
func (r *modelRun) opTake(s *modelSession) bool { return r.take(s, r.anyIID()) }

func (r *modelRun) take(s *modelSession, iid string) bool {
	r.Helper()
	copies := r.m.called(s, iid)
	return r.serve(s, expected{waits: r.m.takeWaits(s, copies, soon())}, func(x *modelTx, out reply) error {
		rows := parseGot(out.text)
		if len(rows) != 1 {
			return fmt.Errorf("%d rows instead of one", len(rows))
		}
		if rows[0].iid != harness.Null {
			r.got(s, rows)
		}
		return r.m.took(s, x, copies, rows[0], out.window, r.database)
	}, pick(r, []forms.Step{
		forms.Do("select "+gotColumns+" from mbus4.take($1) m", iid),
		forms.Do("with x as (select mbus4.take($1) as m) select "+gotColumns+" from x", iid),
	}))
}

// opTakeFrom receives a message by its iid, for one consumer.
func (r *modelRun) opTakeFrom(s *modelSession) bool {
	queue, name, c := r.anyConsumer(s)
	iid := r.anyIID()
	var copies []*modelCopy
	for _, d := range r.m.copies {
		if d.to == c && d.iid != "" && d.visible(s) && (d.iid == iid || r.chance(20)) {
			copies, iid = []*modelCopy{d}, d.iid
		}
	}
	e := expected{waits: r.m.takeWaits(s, copies, soon())}
	if c == nil {
		e = expected{code: "42704"}
	}
	return r.serve(s, e, func(x *modelTx, out reply) error {
		rows := parseGot(out.text)
		if len(rows) != 1 {
			return fmt.Errorf("%d rows instead of one", len(rows))
		}
		if rows[0].iid != harness.Null {
			r.got(s, rows)
		}
		return r.m.took(s, x, copies, rows[0], out.window, r.database)
	}, forms.Do(fmt.Sprintf("select "+gotColumns+" from mbus4.take_from_%s_by_%s($1) m", queue, name), iid))
}

// opPeek looks at a message.
func (r *modelRun) opPeek(s *modelSession) bool {
	iid := r.anyIID()
	copies := r.m.called(s, iid)
	return r.serve(s, expected{}, func(_ *modelTx, out reply) error {
		rows := parseGot(out.text)
		if len(rows) != 1 {
			return fmt.Errorf("%d rows instead of one", len(rows))
		}
		return r.m.first(s, copies, rows[0], out.window, r.database)
	}, forms.Do("select "+gotColumns+" from mbus4.peek($1) m", iid))
}

// opExists asks whether somebody is still to get a message.
func (r *modelRun) opExists(s *modelSession) bool {
	iid := r.anyIID()
	return r.serve(s, expected{}, func(_ *modelTx, out reply) error {
		return answered(out.text, r.m.present(s, []string{iid}, out.window))
	}, forms.Do("select mbus4.is_msg_exists($1)", iid))
}

// opPeekQueue asks whether a queue has a certain message, or any.
func (r *modelRun) opPeekQueue(s *modelSession) bool {
	queue := r.anyQueue()
	iid := r.anyIID()
	all := r.chance(50)
	statement := forms.Do("select mbus4.peek_"+queue+"($1)", iid)
	if all {
		statement = forms.Do("select mbus4.peek_" + queue + "()")
	}
	e := expected{}
	if r.m.queue(s, queue) == nil {
		e.code = "42704"
	}
	return r.serve(s, e, func(_ *modelTx, out reply) error {
		found := never
		for _, c := range r.m.copies {
			if c.to.queue == queue && c.visible(s) && c.to.visible(s) && (all || c.iid == iid) {
				found = max(found, c.unexpired(out.window))
			}
		}
		return answered(out.text, found)
	}, statement)
}

// opGenerate draws an iid for a message to be posted later.
func (r *modelRun) opGenerate(s *modelSession) bool {
	queue := r.anyQueue()
	function := pick(r, []string{"generate_new_msgiid", "get_iid"})
	return r.serve(s, expected{}, func(_ *modelTx, out reply) error {
		if before := len(r.iids); len(out.text) > 0 {
			if r.remember(out.text); len(r.iids) > before {
				return nil
			}
		}
		return fmt.Errorf("%q is not a new iid", out.text)
	}, forms.Do("select mbus4."+function+"($1)", queue))
}

// opClear removes what has expired: nothing that anybody could see.
func (r *modelRun) opClear(s *modelSession) bool {
	queue := r.anyQueue()
	e := expected{}
	if r.m.queue(s, queue) == nil {
		e.code = "42704"
	}
	return r.serve(s, e, nil, forms.Do("select mbus4.clear_queue_"+queue+"()"))
}
