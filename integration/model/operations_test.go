package model

import (
	"fmt"
	"slices"
	"time"

	"mbusproxy/integration/internal/forms"
	"mbusproxy/integration/internal/harness"
)

// modelOp is something a session may do. run reports whether it did.
type modelOp struct {
	name   string
	weight int
	run    func(r *modelRun, s *modelSession) bool
}

var modelOps = []modelOp{
	{"post", 24, (*modelRun).opPost},
	{"post many", 3, (*modelRun).opPostMany},
	{"post batch", 3, (*modelRun).opBatch},
	{"put back", 4, (*modelRun).opPutBack},
	{"retry", 8, (*modelRun).opRetry},
	{"consume", 22, (*modelRun).opConsume},
	{"dyn_consume", 6, (*modelRun).opDynConsume},
	{"lease", 7, (*modelRun).opLease},
	{"settle lease", 9, (*modelRun).opSettleLease},
	{"retry consumed", 4, (*modelRun).opRetryConsumed},
	{"pause queue", 1, (*modelRun).opPauseQueue},
	{"take", 4, (*modelRun).opTake},
	{"take_from", 4, (*modelRun).opTakeFrom},
	{"peek", 2, (*modelRun).opPeek},
	{"is_msg_exists", 3, (*modelRun).opExists},
	{"peek_<q>", 2, (*modelRun).opPeekQueue},
	{"generate_new_msgiid", 2, (*modelRun).opGenerate},
	{"clear_queue_<q>", 2, (*modelRun).opClear},
	{"create_queue", 2, (*modelRun).opCreateQueue},
	{"drop_queue", 1, (*modelRun).opDropQueue},
	{"create_consumer", 3, (*modelRun).opCreateConsumer},
	{"drop_consumer", 1, (*modelRun).opDropConsumer},
	{"create_trigger", 2, (*modelRun).opCreateTrigger},
	{"drop_trigger", 1, (*modelRun).opDropTrigger},
	{"begin", 11, (*modelRun).opBegin},
	{"end", 5, (*modelRun).opEnd},
	{"savepoint", 11, (*modelRun).opSavepoint},
	{"rollback to savepoint", 8, (*modelRun).opRollbackTo},
	{"kill", 2, (*modelRun).opKill},
	{"pause", 2, (*modelRun).opPause},
	{"settle", 3, (*modelRun).opSettle},
}

var (
	modelQueues    = []string{"qa", "qb", "qc"}
	modelConsumers = []string{"default", "ca", "cb", "cc"}
)

// anyQueue is mostly a queue that exists.
func (r *modelRun) anyQueue() string {
	if r.chance(8) {
		return "dmq"
	}
	return pick(r, modelQueues)
}

// anyConsumer is mostly a consumer that exists.
func (r *modelRun) anyConsumer(s *modelSession) (queue, name string, found *modelConsumer) {
	queue, name = r.anyQueue(), pick(r, modelConsumers)
	if r.chance(95) {
		var there []*modelConsumer
		for _, c := range r.m.consumers {
			if c.target == "" && c.visible(s) && (c.queue != "dmq" || r.chance(40)) {
				there = append(there, c)
			}
		}
		if len(there) > 0 {
			c := pick(r, there)
			queue, name = c.queue, c.name
		}
	}
	return queue, name, r.m.consumer(s, queue, name)
}

// anyIID is one of the latest iids seen, made up or never used.
func (r *modelRun) anyIID() string {
	n := len(r.iids)
	return r.iids[max(0, n-1-r.random.IntN(25))]
}

func (r *modelRun) remember(iid string) {
	if !slices.Contains(r.iids, iid) {
		r.iids = append(r.iids, iid)
	}
}

// instant is a moment as a parameter.
type instant struct {
	at   time.Time
	word string // instead
}

func (i *instant) arg(s *modelSession) any {
	if i == nil {
		return nil
	}
	return i.text(s)
}

// text is how the server writes it in the session's time zone.
func (i *instant) text(s *modelSession) string {
	switch {
	case i == nil:
		return harness.Null
	case i.word != "":
		return i.word
	}
	return i.at.In(s.zone).Format("2006-01-02 15:04:05.999999")
}

// anyInstant is a moment for delayed_until or expires, given the chances of none, past, near and far.
func (r *modelRun) anyInstant(none, past, near, far int) *instant {
	now := time.Now().Truncate(time.Microsecond)
	draw := r.random.IntN(none + past + near + far)
	switch {
	case draw < none:
		return nil
	case draw < none+past:
		return &instant{at: now.Add(-time.Duration(r.random.IntN(1e12)))}
	case draw < none+past+near:
		return &instant{at: now.Add(time.Duration(50+r.random.IntN(250)) * time.Millisecond)}
	}
	return pick(r, []*instant{
		{at: now.Add(time.Hour)},
		{at: time.Date(2300, 1, 1, 0, 0, 0, 0, time.UTC)},
		{at: endOfTime, word: "infinity"},
	})
}

// soon is the window of a statement that is about to run.
func soon() window { return window{time.Now(), time.Now().Add(time.Second)} }

// opBegin opens a transaction.
func (r *modelRun) opBegin(s *modelSession) bool {
	if len(s.stack) > 0 {
		return false
	}
	r.control(s, "begin")
	s.stack = []*modelTx{{owner: s}}
	r.status(s)
	return true
}

// control runs a statement that works in a failed transaction, too.
func (r *modelRun) control(s *modelSession, sql string) {
	r.Helper()
	if out := r.send(s, forms.Do(sql)); out.err != nil {
		r.fail("%s: %s", sql, harness.Describe(out.err))
	}
}

// opEnd ends a transaction; COMMIT of one that failed is a rollback.
func (r *modelRun) opEnd(s *modelSession) bool {
	if len(s.stack) == 0 {
		return false
	}
	if r.chance(70) {
		r.control(s, "commit")
		if s.failed {
			s.end(txAborted)
		} else {
			s.end(txCommitted)
		}
	} else {
		r.control(s, "rollback")
		s.end(txAborted)
	}
	r.status(s)
	return true
}

// opSavepoint makes a savepoint, or releases one.
func (r *modelRun) opSavepoint(s *modelSession) bool {
	if len(s.stack) == 0 || s.failed {
		return false
	}
	if top := len(s.stack) - 1; top > 0 && r.chance(25) {
		r.control(s, "release savepoint "+s.stack[top].name)
		s.stack[top].into = s.stack[top-1]
		s.stack = s.stack[:top]
	} else {
		name := fmt.Sprint("p", len(s.stack))
		r.control(s, "savepoint "+name)
		s.stack = append(s.stack, &modelTx{owner: s, name: name})
	}
	r.status(s)
	return true
}

// opRollbackTo rolls back to a savepoint, which also mends a failed transaction.
func (r *modelRun) opRollbackTo(s *modelSession) bool {
	if len(s.stack) < 2 || !s.failed && r.chance(50) {
		return false
	}
	n := 1 + r.random.IntN(len(s.stack)-1)
	name := s.stack[n].name
	r.control(s, "rollback to savepoint "+name)
	for _, x := range s.stack[n:] {
		x.state = txAborted
	}
	s.stack = append(s.stack[:n], &modelTx{owner: s, name: name})
	s.failed = false
	r.status(s)
	return true
}

// opMend ends a transaction that failed, or goes back to a savepoint.
func (r *modelRun) opMend(s *modelSession) bool {
	return r.chance(60) && r.opRollbackTo(s) || r.opEnd(s)
}

// opPause lets time pass.
func (r *modelRun) opPause(s *modelSession) bool {
	d := time.Duration(20+r.random.IntN(200)) * time.Millisecond
	r.note(s, "-- pause of %v", d)
	<-time.After(d)
	return true
}
