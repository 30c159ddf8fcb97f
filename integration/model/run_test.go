package model

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgconn"

	"mbusproxy/internal/wiretest"

	"mbusproxy/integration/internal/forms"
	"mbusproxy/integration/internal/harness"
)

const (
	modelSessions = 4
	modelSteps    = 160 // of a sequence
	modelHistory  = 40  // statements shown on failure
	// modelPatience bounds what the services may take to wake what waited; the machine may be busy.
	modelPatience = time.Minute
)

// Random sequences of all operations from several sessions behind two proxies, one statement at a
// time, against a model that knows what each must give.
//
// MBUS_MODEL_TIME is how long to go on, MBUS_MODEL_SEED the seed of the first sequence; each next one
// has the next seed. A seed fixes what is tried, not how long the server takes for it. MBUS_MODEL_ALL=1
// shows all statements of a sequence that fails, not the last ones only.
func TestModel(t *testing.T) {
	t.Parallel()
	limit, seed := wiretest.Settings(t, "MBUS_MODEL", 8*time.Second)
	r := &modelRun{
		T: t, database: harness.NewDatabase(t), ends: []harness.Endpoint{harness.Proxied(), harness.NewProxy(t).Endpoint},
		counts: map[string]int{},
	}
	r.server = r.dial(harness.Direct().DSN(r.database))
	r.must(r.server, "create table mark (n bigint)")
	r.must(r.dial(harness.Proxied().DSN(r.database)), "select mbus4.peek_dmq()")
	first, began := seed, time.Now()
	for ; time.Since(began) < limit; seed++ {
		r.sequence(seed)
	}
	t.Logf("%d operations in %d sequences, seeds from %d, %v; the longest wait for a message due %v",
		r.operations, seed-first, first, time.Since(began).Round(time.Second), r.longest.Round(time.Millisecond))
	t.Logf("%v", r.counts)
}

// modelRun runs sequences.
type modelRun struct {
	*testing.T
	database   string
	ends       []harness.Endpoint
	server     *pgconn.PgConn // direct
	operations int
	counts     map[string]int // by operation
	longest    time.Duration  // that a message which was due had to be waited for

	// Of the sequence.
	seed     uint64
	step     int
	random   *rand.Rand
	m        *model
	sessions []*modelSession
	number   int      // of the last message
	iids     []string // seen or made up, the latest last
	history  []string
	leases   []string // names seen, the latest last
}

// modelSession is a connection through one of the proxies.
type modelSession struct {
	name   string
	conn   *pgconn.PgConn
	zone   *time.Location
	stack  []*modelTx // the transaction and its savepoints; empty outside of a transaction
	failed bool       // the transaction must be rolled back
	iids   []string   // received in this transaction
}

// sequence runs one sequence and leaves the database empty.
func (r *modelRun) sequence(seed uint64) {
	r.seed, r.step, r.history, r.iids, r.leases = seed, 0, nil, []string{"gone.1", "gone.2"}, []string{"1.1.1.1000000000000000"}
	r.random = rand.New(rand.NewPCG(seed, 0))
	if r.sessions == nil {
		for i := range modelSessions {
			s := &modelSession{name: fmt.Sprint("s", i+1)}
			r.sessions = append(r.sessions, s)
			r.connect(s)
		}
	}
	r.m = newModel(r.sessions)
	r.prologue()
	var weights []int // each operation as often as its weight says
	for i, op := range modelOps {
		weights = append(weights, slices.Repeat([]int{i}, op.weight)...)
	}
	for r.step = 1; r.step <= modelSteps; r.step++ {
		// What one step draws does not depend on how much the steps before it drew.
		r.random = rand.New(rand.NewPCG(seed, uint64(r.step)))
		s := pick(r, r.sessions)
		op := modelOps[weights[r.random.IntN(len(weights))]]
		if s.failed && r.chance(60) {
			op = modelOp{"mend", 0, (*modelRun).opMend}
		}
		if op.run(r, s) {
			r.operations++
			r.counts[op.name]++
		}
		r.m.look()
	}
	r.drain()
}

// pick draws one of several.
func pick[E any](r *modelRun, from []E) E { return from[r.random.IntN(len(from))] }

// chance draws true in so many of a hundred cases.
func (r *modelRun) chance(percent int) bool { return r.random.IntN(100) < percent }

func (r *modelRun) fail(format string, args ...any) {
	r.Helper()
	r.Fatalf("%s\nMBUS_MODEL_SEED=%d, step %d; the last statements:\n%s",
		fmt.Sprintf(format, args...), r.seed, r.step, strings.Join(r.history, "\n"))
}

func (r *modelRun) note(s *modelSession, format string, args ...any) {
	r.history = append(r.history, fmt.Sprintf("%s %s  ", time.Now().UTC().Format("05.000000"), s.name)+fmt.Sprintf(format, args...))
	if os.Getenv("MBUS_MODEL_ALL") == "" {
		r.history = r.history[max(0, len(r.history)-modelHistory):]
	}
}

func (r *modelRun) dial(dsn string) *pgconn.PgConn {
	r.Helper()
	ctx, cancel := context.WithTimeout(r.Context(), harness.AskLimit)
	defer cancel()
	conn, err := pgconn.Connect(ctx, dsn)
	if err != nil {
		r.fail("connecting: %v", err)
	}
	r.Cleanup(func() { harness.Close(conn) })
	return conn
}

// modelLockTimeout is enough for the services to let go of a row.
const modelLockTimeout = "10s"

// connect makes a session anew, through either proxy, in a time zone of its own.
func (r *modelRun) connect(s *modelSession) {
	e := pick(r, r.ends)
	hours := pick(r, []int{0, 9, -4})
	s.zone = time.FixedZone("", hours*3600)
	// In a zone's POSIX name east is negative.
	s.conn = r.dial(fmt.Sprintf("%s timezone=UTC%+d lock_timeout=%s", e.DSN(r.database), -hours, modelLockTimeout))
	r.note(s, "-- connected through port %d, UTC%+d", e.Port, hours)
}

// must runs a statement of the test itself.
func (r *modelRun) must(conn *pgconn.PgConn, sql string) string {
	r.Helper()
	ctx, cancel := context.WithTimeout(r.Context(), harness.AskLimit)
	defer cancel()
	text, err := harness.Query(ctx, conn, sql)
	if err != nil {
		r.fail("%s: %s", sql, harness.Describe(err))
	}
	return text
}

// reply is what came of a statement.
type reply struct {
	text string
	err  error
	window
}

// send runs steps in one of the forms of the protocol; several go as one implicit transaction.
func (r *modelRun) send(s *modelSession, steps ...forms.Step) reply {
	r.Helper()
	ctx, cancel := context.WithTimeout(r.Context(), harness.AskLimit)
	defer cancel()
	f := pick(r, forms.All())
	var texts []string
	for _, p := range steps {
		texts = append(texts, p.Inlined())
	}
	r.m.statement++
	// The server's clock is ours; it has microseconds.
	from := time.Now().Truncate(time.Microsecond).Add(-time.Microsecond)
	var text string
	var err error
	switch {
	case len(steps) == 1:
		text, err = f.Run(ctx, s.conn, steps...)
	case r.chance(50):
		f.Name = "simple"
		text, err = harness.Query(ctx, s.conn, strings.Join(texts, "; "))
	default:
		f.Name = "pipelined"
		text, err = forms.RunPipelined(ctx, s.conn, steps...)
	}
	to := time.Now().Add(time.Microsecond)
	result := strings.ReplaceAll(text, "\n", " / ")
	if err != nil {
		result = harness.Describe(err)
	}
	r.note(s, "%s;  -- %s, %v: %s", strings.Join(texts, "; "), f.Name, to.Sub(from).Round(time.Millisecond), result)
	return reply{text, err, window{from, to}}
}

// open gives the transaction in which the next statement of a session works.
func (s *modelSession) open() *modelTx {
	if len(s.stack) == 0 {
		return &modelTx{owner: s}
	}
	return s.stack[len(s.stack)-1]
}

// done ends a statement: an error ends its transaction, at the latest savepoint.
func (s *modelSession) done(x *modelTx, ok bool) {
	switch {
	case !ok:
		x.state = txAborted
		s.failed = len(s.stack) > 0
	case len(s.stack) == 0:
		x.state = txCommitted
	}
}

// end ends the session's transaction.
func (s *modelSession) end(state modelState) {
	for _, x := range s.stack {
		if x.state == txOpen {
			x.state = state
		}
	}
	s.stack, s.failed, s.iids = nil, false, nil
}

// expected is what the model knows of a statement beforehand.
type expected struct {
	code  string    // SQLSTATE; "": none
	or    []string  // others, where it cannot know
	waits certainty // for another transaction
}

// serve runs one statement, or several in an implicit transaction, and holds what comes of it
// against what is expected; apply takes a success over into the model. False: it was not run.
func (r *modelRun) serve(s *modelSession, e expected, apply func(x *modelTx, out reply) error, steps ...forms.Step) bool {
	r.Helper()
	if s.failed {
		e, apply = expected{code: "25P02"}, nil
	}
	if e.waits != never {
		if r.chance(50) {
			return false
		}
		r.send(s, forms.Do("set lock_timeout = '40ms'"))
		e.or = append(e.or, "55P03")
	}
	x := s.open()
	out := r.send(s, steps...)
	code := harness.SQLState(out.err)
	r.counts[or(code, "success")]++
	switch {
	case out.err != nil && code == "":
		r.fail("the session is lost: %v", out.err)
	case e.waits == surely && code != "55P03":
		r.fail("got %s, but the statement must wait for another transaction", or(code, "an answer"))
	case code != e.code && !slices.Contains(e.or, code):
		r.fail("got SQLSTATE %s, want %s %v", or(code, "none"), or(e.code, "none"), e.or)
	case out.err == nil && apply != nil:
		if err := apply(x, out); err != nil {
			r.fail("%v", err)
		}
	}
	if !s.failed {
		s.done(x, out.err == nil)
	}
	if e.waits != never && !s.failed {
		r.send(s, forms.Do("set lock_timeout = '"+modelLockTimeout+"'"))
	}
	r.status(s)
	return true
}

// status compares the state of the session's transaction.
func (r *modelRun) status(s *modelSession) {
	r.Helper()
	want := byte('T')
	if s.failed {
		want = 'E'
	} else if len(s.stack) == 0 {
		want = 'I'
	}
	if got := s.conn.TxStatus(); got != want {
		r.fail("the transaction's state is %c, want %c", got, want)
	}
}

func or(text, otherwise string) string {
	if text == "" {
		return otherwise
	}
	return text
}
