package bench

import (
	"fmt"
	"time"

	"mbusproxy/internal/cli"
)

// Config is the workload.
type Config struct {
	DSN       string        // of the proxy; "": the variables of libpq say
	Duration  time.Duration // of each phase
	Rate      float64       // messages a second, but in the saturated phase
	Consumers int           // sessions
	Posters   int           // sessions
	Work      time.Duration // of a consumer with each message
	Size      int           // of what a message carries, in bytes
	Progress  *cli.Progress // is told of each second; may be nil
}

// phase is a part of the run.
type phase struct {
	name      string
	load      float64 // of Config.Rate; 0: as fast as it goes
	held      bool    // a snapshot is held
	scanners  int     // sessions that scan under REPEATABLE READ
	goesOn    bool    // it begins with what the phase before has left
	recovers  bool    // how long it takes to work that off is told
	narrative string
}

// phases are all of them, in their order.
func phases() []phase {
	return []phase{
		{name: "clean", load: 1, narrative: "nothing in the way"},
		{name: "saturated", narrative: fmt.Sprintf("as fast as it goes, with at most %d messages outstanding", outstandingAtMost)},
		{name: "held xmin", load: 1, held: true, narrative: "a transaction holds a snapshot"},
		{name: "scanners", load: 1, scanners: 4, narrative: "four sessions scan under REPEATABLE READ"},
		{name: "overload", load: 1.5, narrative: "one and a half times the rate"},
		{name: "recovery", load: 1, goesOn: true, recovers: true, narrative: "the rate again, with what is left of the overload"},
	}
}

// Seconds is about how long a run takes.
func (c Config) Seconds() int { return int(float64(len(phases())) * c.Duration.Seconds()) }

// outstandingAtMost bounds the backlog of the saturated phase, or it would measure the length of the phase.
const outstandingAtMost = 2000
