package pipeline

// history is what a name has stood for: one meaning that is certain, and the deeds under way that
// may have changed it. It belongs to the direction client -> server.
//
// Deeds that take a name away are noted to save memory only. To bind or execute a name that is not
// there is an error, and then the server skips what belongs to it; so all that matters is what gave
// the name its last meaning.
type history struct {
	last     *deed // done, or unclear; nil: nothing that matters
	underWay []*deed
}

// catchUp moves deeds whose outcome is known out of underWay; false means that nothing is left.
func (h *history) catchUp() bool {
	for len(h.underWay) > 0 {
		d := h.underWay[0]
		outcome := d.outcome.Load()
		if outcome == deedPending {
			break
		}
		if outcome != deedUndone {
			h.last = d
		}
		h.underWay[0] = nil
		h.underWay = h.underWay[1:]
	}
	if h.last != nil && (h.last.gone.Load() || h.last.outcome.Load() == deedDone && !h.last.means.matters()) {
		h.last = nil
	}
	return h.last != nil || len(h.underWay) > 0
}

// size is how many bytes of texts and messages are kept for the name.
func (h *history) size() (n int) {
	for _, d := range h.underWay {
		n += d.means.size()
	}
	if h.last != nil {
		n += h.last.means.size()
	}
	return n
}

// look returns the deed that has given the name its meaning at the time when the server comes to a
// message sent now, nil when it means nothing that matters; or a deed whose outcome must be known
// first.
//
// If a message of the extended protocol fails the server skips all that follow it up to the next
// Sync. So what was sent since the last Sync needs no waiting for: it comes about, or the server
// does not come to this message. What was sent before will be replied to, for that Sync is.
func (h *history) look(segment uint64) (meant, wait *deed, err error) {
	if n := len(h.underWay); n > 0 {
		d := h.underWay[n-1]
		switch {
		case d.segment == segment && !d.simple:
			return d, nil, nil
		case d.segment == segment && d.doubtful:
			return nil, nil, errUnclear
		default:
			return nil, d, nil
		}
	}
	if h.last != nil && h.last.outcome.Load() == deedUnclear {
		return nil, nil, errUnclear
	}
	return h.last, nil, nil
}

// register holds the histories of names that may have a meaning that matters.
type register struct {
	names map[string]*history
	// sweepAt is the size at which names that have ended are looked for.
	sweepAt int
}

// sweepFirst is the first sweepAt.
const sweepFirst = 16

// find returns the history of name, nil when it has no meaning that matters.
func (r *register) find(name string) *history {
	h := r.names[name]
	if h != nil && !h.catchUp() {
		delete(r.names, name)
		return nil
	}
	return h
}

// note adds a deed that gives name a meaning. It returns nil when that makes no difference.
func (r *register) note(name string, segment uint64, means meaning) []*deed {
	h := r.find(name)
	if h == nil {
		if !means.matters() {
			return nil
		}
		h = new(history)
		r.add(name, h)
	}
	d := newDeed(segment, "", means)
	h.underWay = append(h.underWay, d)
	return []*deed{d}
}

func (r *register) add(name string, h *history) {
	if r.names == nil {
		r.names, r.sweepAt = make(map[string]*history), sweepFirst
	}
	if len(r.names) >= r.sweepAt {
		r.sweepAt = 2*r.sweep() + sweepFirst
	}
	r.names[name] = h
}

// sweep drops the names that have ended and returns how many are left.
func (r *register) sweep() int {
	for name := range r.names {
		r.find(name)
	}
	return len(r.names)
}

// look is history.look for the name.
func (r *register) look(name string, segment uint64) (meant, wait *deed, err error) {
	if h := r.find(name); h != nil {
		return h.look(segment)
	}
	return nil, nil, nil
}
