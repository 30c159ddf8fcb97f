package statements

import (
	"context"
	"time"

	"mbusproxy/proxy/wire"
)

// Waiter is a Plan whose statement may have to wait before it runs.
type Waiter interface {
	Plan
	// Waits reports whether Wait is to be called.
	Waits() bool
	// Wait is called before the statement runs; values are as for Prelude, and none for a Query. It
	// returns what the statement waits for, or a Plan that refuses it, or nil and nil for a
	// statement that does not wait this time.
	Wait(ctx context.Context, sc Context, values wire.Values) (wait Wait, refused Plan)
}

// Wait is what one run of a statement waits for. Its methods are called one after the other.
type Wait interface {
	// Probe returns the probe query. Of its Plan only SQL and EditReport are used. It yields one
	// row with one column, a text of at most MaxAnswer bytes.
	Probe() Plan
	// Prepares reports whether the probe query may be prepared in the session.
	Prepares() bool
	// Answered gets the answer to the probe query. run says that the statement is to run now, in
	// the same transaction. block says that a transaction block is open.
	Answered(answer string, block bool) (run bool, refused Plan)
	// Sleep is called when the probe query has found nothing. It returns at once, and wake is
	// called, once and from anywhere, when Awake is worth calling; perhaps before Sleep returns.
	Sleep(wake func())
	// Awake ends the sleep, also one of which nobody has been woken. The probe query is to be sent
	// again then, or with over the statement is to run whatever there is.
	Awake() (over bool, refused Plan)
	// Stand reports whether others wait for the same already, so that the statement can wait with
	// them before the first probe query; Sleep comes next then, for room at most. It is called
	// first, if at all.
	Stand(room time.Duration) bool
	// Room returns, once the probe query has been answered, how long a statement of the session may
	// wait without one; 0: it may not.
	Room() time.Duration
	// Statement returns the statement's own Plan, for when its wait is over. It is called for a
	// Query, of which nothing else is kept.
	Statement() Plan
	// Leave is called once, last: run says whether the statement runs.
	Leave(run bool)
}
