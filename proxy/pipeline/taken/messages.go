package taken

import (
	"strconv"
	"strings"
	"sync/atomic"

	"mbusproxy/proxy/statements"
)

// Messages counts what the open transaction has taken. It belongs to the direction server to client, but for Shown.
//
// The server does not say to which savepoint a transaction is rolled back. It is taken to be the
// last one, as with drivers and nested blocks it is; where it is another one, too many are counted
// until the transaction ends, never too few.
type Messages struct {
	shown atomic.Int64 // see Shown
	n     int64
	some  bool // a statement has taken what its reply does not tell
	// savepoints are those set since the first message was taken, the last one at the end. Those
	// before it need not be known: nothing was held then.
	savepoints []savepoint
}

// savepoint is what was held when savepoints were set, times of them in a row.
type savepoint struct {
	n     int64
	some  bool
	times int
}

// maxSavepoints bounds what is kept: of those beyond it nothing is known.
const maxSavepoints = 1000

// Any reports whether anything is held.
func (h *Messages) Any() bool { return h.n > 0 || h.some }

// Shown is how many messages are held; less than 0: it is not known. It may be called from anywhere.
func (h *Messages) Shown() int64 { return h.shown.Load() }

func (h *Messages) show() {
	n := h.n
	if h.some {
		n = -1
	}
	if h.shown.Load() != n {
		h.shown.Store(n)
	}
}

// Took notes that a statement of the plan has completed with that tag.
func (h *Messages) Took(plan statements.Plan, tag string) {
	taker, ok := plan.(statements.Taker)
	if !ok {
		return
	}
	switch taker.Takes() {
	case statements.TakesRows:
		h.n += rowsOf(tag)
	case statements.TakesSome:
		h.some = true
	default:
		return
	}
	h.show()
}

// Suspended notes that a portal of the plan has more rows: how many a statement has taken is then not known.
func (h *Messages) Suspended(plan statements.Plan) {
	if taker, ok := plan.(statements.Taker); ok && taker.Takes() != statements.TakesNothing {
		h.some = true
		h.show()
	}
}

// Completed notes a command with that tag, where something is held.
func (h *Messages) Completed(tag string) {
	last := len(h.savepoints) - 1
	switch tag {
	case "SAVEPOINT":
		switch {
		case last >= 0 && h.savepoints[last].n == h.n && h.savepoints[last].some == h.some:
			h.savepoints[last].times++
		case last+1 < maxSavepoints:
			h.savepoints = append(h.savepoints, savepoint{h.n, h.some, 1})
		default:
			h.some = true
		}
	case "RELEASE":
		if last < 0 {
			break
		}
		if h.savepoints[last].times--; h.savepoints[last].times == 0 {
			h.savepoints = h.savepoints[:last]
		}
	case "ROLLBACK":
		h.back()
	case "COMMIT", "PREPARE TRANSACTION":
		h.end()
		return
	}
	h.show()
}

// back goes back to what was held at the last savepoint, or to nothing.
func (h *Messages) back() {
	h.n, h.some = 0, false
	if last := len(h.savepoints) - 1; last >= 0 {
		h.n, h.some = h.savepoints[last].n, h.savepoints[last].some
	}
}

// Ready notes the status of a ReadyForQuery, where something is held. What a transaction has taken
// since its last savepoint it loses when it fails.
func (h *Messages) Ready(status byte) {
	switch status {
	case 'I':
		h.end()
	case 'E':
		h.back()
		h.show()
	}
}

func (h *Messages) end() {
	h.n, h.some, h.savepoints = 0, false, nil
	h.show()
}

// rowsOf is the number of rows that the tag of a CommandComplete ends with; 0 for one without.
func rowsOf(tag string) int64 {
	n, err := strconv.ParseInt(tag[strings.LastIndexByte(tag, ' ')+1:], 10, 64)
	if err != nil || n < 0 {
		return 0
	}
	return n
}
