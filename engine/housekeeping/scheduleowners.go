package housekeeping

import (
	"maps"
	"time"
)

const (
	longPost  = 100 * time.Millisecond // a post that takes longer has its owner rest, backlogFactor times as long
	tenfold   = 10                     // longer than that: dutyFactor times
	keepOwner = time.Minute            // that what is known of an owner is kept after its rest
)

// scheduleOwners gives the owners of schedules turns. What an owner's schedules cost, and whether
// their posts fail, is the owner's choice; so an owner whose turn was long, or has failed in a way
// that may pass, rests, and the others have theirs meanwhile.
type scheduleOwners struct {
	last string                    // who had the last turn
	rest map[string]*scheduleOwner // those that rest, or have of late
	long time.Duration             // longPost
}

func newScheduleOwners() scheduleOwners {
	return scheduleOwners{rest: map[string]*scheduleOwner{}, long: longPost}
}

type scheduleOwner struct {
	until   time.Time   // the rest ends
	failing failingTick // the last one that has failed because of the server
}

// failingTick says how often in a row a schedule was tried in vain.
type failingTick struct {
	name  string
	times int
	said  string // what the last try failed with
}

func (f *failingTick) add(name, said string) {
	if f.name != name {
		*f = failingTick{name: name}
	}
	f.times++
	f.said = said
}

// of gives what is known of an owner.
func (o *scheduleOwners) of(owner string) *scheduleOwner {
	if o.rest[owner] == nil {
		o.rest[owner] = &scheduleOwner{until: time.Now()}
	}
	return o.rest[owner]
}

// posted notes that a post of the owner's has taken that long, and whether it is to be tried again.
func (o *scheduleOwners) posted(owner string, took time.Duration, again bool) {
	pause := time.Duration(0)
	switch {
	case took > tenfold*o.long:
		pause = dutyFactor * took
	case took > o.long:
		pause = backlogFactor * took
	}
	if again {
		pause = max(pause, heldPause)
	}
	if pause > 0 {
		o.of(owner).until = time.Now().Add(pause)
	}
}

// resting gives the owners that have no turn now. Never nil, which would be null in a query.
func (o *scheduleOwners) resting() [][]byte {
	now := time.Now()
	maps.DeleteFunc(o.rest, func(_ string, owner *scheduleOwner) bool { return now.Sub(owner.until) > keepOwner })
	resting := [][]byte{}
	for name, owner := range o.rest {
		if now.Before(owner.until) {
			resting = append(resting, []byte(name))
		}
	}
	return resting
}
