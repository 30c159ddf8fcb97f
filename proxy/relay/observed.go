package relay

import (
	"cmp"
	"encoding/binary"
	"slices"
	"sync/atomic"
	"time"

	"mbusproxy/proxy/pipeline"
	"mbusproxy/proxy/wire"
)

// State is what a session does, as far as its messages tell. The words are those of pg_stat_activity.
type State uint32

// The states of a session.
const (
	Starting      State = iota // it has not been launched
	Idle                       // outside of a transaction
	Active                     // the server has something to do, or the proxy has a statement of it
	Waiting                    // a call of it waits
	InTransaction              // idle in a transaction
	InFailed                   // idle in one that has failed
)

var stateNames = [...]string{"starting", "idle", "active", "waiting", "idle in transaction", "idle in transaction (aborted)"} //nolint:gochecknoglobals // constant

// States are the names of all states, in their order.
func States() []string { return stateNames[:] }

func (s State) String() string { return stateNames[s] }

// observed is what others may look at while a session runs. It is written by whoever moves the session's bytes.
type observed struct {
	id                     uint64
	since                  time.Time
	client                 string // its address
	user, database         string
	fromClient, fromServer atomic.Uint64 // bytes
	state                  atomic.Uint32 // a State
}

// read counts what has been read.
func (o *observed) read(from *atomic.Uint64, n int) {
	from.Store(from.Load() + uint64(n)) // one writer
}

// note notes the state. busy: the proxy has something of the client that the server has not.
func (o *observed) note(b pipeline.Backlog, busy bool) {
	now := InTransaction
	switch {
	case busy || b.Busy():
		now = Active
	case b.Failed():
		now = InFailed
	case !b.InBlock():
		now = Idle
	}
	if o.state.Load() != uint32(now) {
		o.state.Store(uint32(now))
	}
}

// Observation is what is known of a session.
type Observation struct {
	ID                     uint64 // as in the log
	Client                 string // address
	User, Database         string // as named at startup; "" before
	ServerPID              uint32 // of its server process, by which pg_stat_activity knows it; 0: unknown
	Since                  time.Time
	State                  State
	FromClient, FromServer uint64 // bytes
	// Call and Held are those of pipeline.Session.
	Call string
	Held int64
}

// Observe looks at all sessions, which go on meanwhile, in the order in which they came.
func (s *Sessions) Observe() []Observation {
	s.mu.Lock()
	defer s.mu.Unlock()
	out := make([]Observation, 0, len(s.all))
	for sess := range s.all {
		o := Observation{ID: sess.seen.id, Client: sess.seen.client, Since: sess.seen.since}
		if sess.running.Load() > 0 {
			o.User, o.Database = sess.seen.user, sess.seen.database
			o.State = State(sess.seen.state.Load())
			if sess.Up.Waits() {
				o.State = Waiting
			}
			look := sess.Look()
			o.Call, o.Held = look.Call, look.Held
			o.FromClient, o.FromServer = sess.seen.fromClient.Load(), sess.seen.fromServer.Load()
			if len(sess.key) >= 4 {
				o.ServerPID = binary.BigEndian.Uint32([]byte(sess.key))
			}
		}
		out = append(out, o)
	}
	slices.SortFunc(out, func(a, b Observation) int { return cmp.Compare(a.ID, b.ID) })
	return out
}

// Traffic is what sessions have moved.
type Traffic struct {
	FromClients, FromServers uint64 // bytes
	// ClientMessages and ServerMessages are those that have been told apart: nothing of a startup,
	// nor of a session of replication.
	ClientMessages, ServerMessages wire.MessageCounts
	// Prepared are the statements that the proxy has prepared in sessions.
	Prepared uint64
}

func (t *Traffic) add(sess *Session) {
	t.FromClients += sess.seen.fromClient.Load()
	t.FromServers += sess.seen.fromServer.Load()
	sess.Up.Tally.AddTo(&t.ClientMessages)
	sess.Down.Tally.AddTo(&t.ServerMessages)
	t.Prepared += sess.PreparedSoFar()
}

// Traffic is what all sessions that have ended and that run have moved.
func (s *Sessions) Traffic() Traffic {
	s.mu.Lock()
	defer s.mu.Unlock()
	t := s.past
	for sess := range s.all {
		t.add(sess)
	}
	return t
}

// Admitted is how many sessions there have been.
func (s *Sessions) Admitted() uint64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.lastID
}

// EndOne ends the session with that number, if it runs, as at a shutdown.
func (s *Sessions) EndOne(id uint64) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	for sess := range s.all {
		if sess.seen.id == id && sess.running.Load() > 0 {
			sess.expire()
			return true
		}
	}
	return false
}

// TextsMemory is how many bytes the texts of what sessions have prepared take, and how many they may.
func (s *Sessions) TextsMemory() (used, size int) { return s.remembered.Used(), s.remembered.Size() }
