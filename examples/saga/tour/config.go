package tour

import (
	"time"

	"github.com/jackc/pgx/v5"
)

// Config is what services need. Zero values do, but for DSN.
type Config struct {
	DSN         string
	MaxAttempts int           // before a step is given up; default 3
	RetryDelay  time.Duration // times the number of attempts so far; default 100 ms
	// Mood says how the world outside answers; nil: it always does what is asked.
	Mood func(Request) Mood
	// Watch is told what happens, by the service it happens to, which waits for it.
	Watch func(Event)
	// Tune may change how a service connects. Each service has a connection by its name for its
	// transactions, and one for what must not be rolled back with them.
	Tune func(name string, config *pgx.ConnConfig)
}

// Moment is a place in the work of a service.
type Moment string

// The moments, in the order of a service's work.
const (
	Received  Moment = "received"  // a message is consumed, the transaction open
	Answered  Moment = "answered"  // the world outside has done what was asked
	Taken     Moment = "taken"     // the messages of the other way are taken
	Committed Moment = "committed" // the message is done with
	Lost      Moment = "lost"      // the service has lost its connection and will connect again
)

// Event is something that happened to a service.
type Event struct {
	Moment  Moment
	Service string
	TourID  int64
	Step    Step   // empty for the services at the ends
	Text    string // at Committed and Lost
	// At is when it happened; at Committed, when the commit began. So what one service did because of
	// what another one did is always later.
	At time.Time
}
