package rewriter

import (
	"context"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"mbusproxy/engine/calls"
	"mbusproxy/engine/waiting"
	"mbusproxy/proxy/statements"
	"mbusproxy/proxy/wire"
	"mbusproxy/rewrite/plan"
	"mbusproxy/sqlfuncs"
)

// longestWait bounds a wait, so that sums of times are times.
const longestWait = 10 * 365 * 24 * time.Hour

const (
	codeQueryCanceled     = "57014"
	codeActiveTransaction = "25001" // active_sql_transaction
)

// Waits reports whether Wait is to be called.
func (p wirePlan) Waits() bool { return p.db != nil && p.Plan.Waits() }

// Wait returns what the call that waits waits for.
func (p wirePlan) Wait(_ context.Context, sc statements.Context, values wire.Values) (statements.Wait, statements.Plan) {
	var sent *bound
	if !sc.Simple {
		if !values.Known() {
			return nil, nil // forBind refuses it
		}
		sent = &bound{values, sc.Encoding}
	}
	w := p.Plan.Wait()
	refuse := func(r plan.Refusal) (statements.Wait, statements.Plan) {
		return nil, wirePlan{Plan: p.Refuse(w.Offset, r)}
	}
	args := make(map[string]*string, len(w.Args))
	for _, param := range w.Func.Params {
		v := w.Args[param.Name]
		if sc.Simple && len(v.Parameters()) > 0 {
			return refuse(NoParameter(v.Parameters()[0]))
		}
		text, r := read(v, param.Type, sent)
		if r != nil {
			return refuse(*r)
		}
		args[param.Name] = text
	}
	if args[w.Func.Wait] == nil {
		return nil, nil
	}
	text := func(name string) string {
		if args[name] == nil {
			return ""
		}
		return sqlfuncs.Fold(*args[name])
	}
	probe := p.texts.Await(p.db.Site(), calls.PreludeCall{Func: w.Func, Name: w.Name, Args: args, Number: w.Call, Secret: sc.Secret})
	key := waiting.Key{Queue: text("qname"), Consumer: text("cname"), Selective: w.Func.Condition != ""}
	if w.Func.WaitsForOne() {
		if args["msgid"] == nil {
			return nil, nil // there is none
		}
		key.Message = *args["msgid"]
	}
	// One statement looks for all who wait: with a text that the server cannot read it would fail for all of them.
	if !readable(key.Queue+key.Consumer+key.Message, sc.Encoding) {
		return refuse(plan.Refusal{
			Code:    codeFeatureNotSupported,
			Message: "a call cannot wait for a name or an iid that is not ASCII while client_encoding is not UTF8",
			Hint:    "Set client_encoding to UTF8, or let it wait for names and an iid of ASCII characters.",
		})
	}
	return &callWait{
		statement: wirePlan{Plan: p.Waited(), db: p.db, counts: p.counts, client: p.client, statement: p.statement, prepares: p.prepares},
		probe:     probe, call: w.Call, offset: w.Offset, began: time.Now(), half: plainInterval(*args[w.Func.Wait]) / 2,
		place: p.db.Join(key),
	}, nil
}

// readable reports whether a text that a client has sent is in UTF-8.
func readable(text, encoding string) bool {
	return encoding == "UTF8" && utf8.ValidString(text) || !strings.ContainsFunc(text, func(r rune) bool { return r >= utf8.RuneSelf })
}

// callWait is the wait of one run of a statement.
type callWait struct {
	statement    statements.Plan // a wirePlan
	probe        string          // the probe query
	call, offset int             // the call's number, and where it stands
	place        *waiting.Place
	began        time.Time
	half         time.Duration // half of how long it waits at most, where its text says that plainly; else 0
	// stands is how long it stands behind others without having looked; 0: it does not.
	stands time.Duration
	// bounds are read from the first answer that has found nothing.
	bounds *waitBounds
	// ends says what the end of the sleep under way means.
	ends sleepEnd
}

// sleepEnd is what the end of a sleep means that nobody has been woken of.
type sleepEnd uint8

const (
	looksAgain sleepEnd = iota
	waitOver
	timesOut
)

// waitBounds say how long a call may wait.
type waitBounds struct {
	until    time.Time     // the end of the wait
	timeout  time.Time     // the statement's; zero: none
	refresh  time.Duration // after which the session must be used, for the server ends it if it is idle for longer; 0: never
	snapshot bool          // the transaction goes on seeing what it saw first
}

// longestStand is how long a call stands behind others without having looked: a function may have
// changed the session's timeouts unseen. A shorter time than shortestStand is not worth while.
const (
	longestStand  = 10 * time.Second
	shortestStand = 500 * time.Millisecond
)

// Stand has the call stand behind others. Its time must be over much later, for the server has not read it.
func (w *callWait) Stand(room time.Duration) bool {
	stands := min(room, w.half)
	if stands >= shortestStand && w.place.Stand() {
		w.stands = stands
	}
	return w.stands > 0
}

// plainInterval reads the text of an interval in one of its plain forms; 0 for others.
func plainInterval(text string) time.Duration {
	digits := 0
	for digits < len(text) && text[digits] >= '0' && text[digits] <= '9' {
		digits++
	}
	n, err := strconv.Atoi(text[:digits])
	if err != nil || n > 1e4 {
		return 0
	}
	switch strings.TrimPrefix(text[digits:], " ") {
	case "s", "sec", "second", "seconds":
		return time.Duration(n) * time.Second
	case "min", "minute", "minutes":
		return time.Duration(n) * time.Minute
	case "h", "hour", "hours":
		return time.Duration(n) * time.Hour
	}
	return 0
}

// Room returns how long a call of the session may stand behind others without having looked.
func (w *callWait) Room() time.Duration {
	b := w.bounds
	if b == nil {
		return 0
	}
	room := longestStand
	if !b.timeout.IsZero() {
		room = min(room, b.timeout.Sub(w.began)/2)
	}
	if b.refresh > 0 {
		room = min(room, b.refresh)
	}
	return room
}

// Probe returns the probe query.
func (w *callWait) Probe() statements.Plan {
	w.stands = 0
	w.place.Look()
	p := w.plan()
	return wirePlan{Plan: plan.PreludePlan(p.Plan, w.call, w.probe, nil), db: p.db}
}

// Prepares reports whether the probe query may be prepared in the session.
func (w *callWait) Prepares() bool { return w.plan().prepares }

// Answered reads the answer to the probe query.
func (w *callWait) Answered(answer string, block bool) (run bool, refused statements.Plan) {
	if answer == "" {
		return true, nil
	}
	if w.bounds == nil {
		w.bounds = readBounds(answer, w.began, block)
	}
	switch {
	case w.bounds == nil:
		return true, nil // what we wrote we can read
	case block && w.bounds.snapshot:
		return false, w.refuse(plan.Refusal{
			Code:    codeActiveTransaction,
			Message: "a call cannot wait in a repeatable read or serializable transaction",
			Hint:    "Begin the transaction with isolation level read committed, or let the call wait before it.",
		})
	}
	return false, nil
}

func (w *callWait) refuse(r plan.Refusal) statements.Plan {
	p := w.plan()
	return wirePlan{Plan: p.Refuse(w.offset, r), db: p.db}
}

func (w *callWait) plan() wirePlan { return w.statement.(wirePlan) }

// Statement returns the plan of the statement.
func (w *callWait) Statement() statements.Plan { return w.statement }

// readBounds reads the answer of the function that calls.Texts.Await calls, which is not empty; nil: it is none.
func readBounds(answer string, began time.Time, block bool) *waitBounds {
	fields := strings.Fields(answer)
	if len(fields) != 5 {
		return nil
	}
	var times [4]time.Duration
	for i := range times {
		n, err := strconv.ParseFloat(fields[i], 64)
		if err != nil {
			return nil
		}
		unit := time.Millisecond
		if i == 0 {
			unit = time.Microsecond
		}
		times[i] = time.Duration(min(max(n, 0), float64(longestWait/unit))) * unit
	}
	b := &waitBounds{until: began.Add(times[0]), snapshot: fields[4] != "read_committed" && fields[4] != "read_uncommitted"}
	if times[1] > 0 {
		b.timeout = began.Add(times[1])
	}
	if b.refresh = times[3] / 2; block {
		b.refresh = times[2] / 2
	}
	return b
}

// Sleep waits for the place's turn.
func (w *callWait) Sleep(wake func()) {
	w.ends = looksAgain
	if w.stands > 0 {
		w.place.Sleep(w.stands, wake)
		return
	}
	until := w.bounds.until
	w.ends = waitOver
	if !w.bounds.timeout.IsZero() && w.bounds.timeout.Before(until) {
		until, w.ends = w.bounds.timeout, timesOut
	}
	limit := time.Until(until)
	if w.bounds.refresh > 0 && w.bounds.refresh < limit {
		limit, w.ends = w.bounds.refresh, looksAgain
	}
	w.place.Sleep(limit, wake)
}

// Awake ends the sleep.
func (w *callWait) Awake() (over bool, refused statements.Plan) {
	if !w.place.Awake() {
		return false, nil
	}
	if w.ends == timesOut {
		return false, w.refuse(plan.Refusal{Code: codeQueryCanceled, Message: "canceling statement due to statement timeout"})
	}
	return w.ends == waitOver, nil
}

// Label says what waits.
func (w *callWait) Label() string { return w.plan().Label() }

// Leave leaves the line.
func (w *callWait) Leave(run bool) { w.place.Leave(run) }
