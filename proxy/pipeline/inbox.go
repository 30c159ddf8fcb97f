package pipeline

import "mbusproxy/proxy/pipeline/requests"

// Inbox takes the requests from the direction client to server, which is about to write them, to
// the other, and the backlog the other way, where each direction has a goroutine of its own. Its
// owner guards it with a mutex. Where one goroutine serves both directions there is no need of it.
type Inbox struct {
	entries  []request
	size     int // request.size of all
	flushing int // entries of kinds that flush, without ours
	// known is the backlog without entries; copies says that the server takes the data of a COPY.
	known  Backlog
	copies bool
	// likelySkips says that the server skips up to a Sync that has not been sent yet, as far as can
	// be told, so that probe queries are given up; see tracker.skipsOn. known.skips is the certain
	// case, in which requests are not even queued.
	likelySkips bool
}

// Empty reports whether there is nothing for Collect.
func (in *Inbox) Empty() bool { return len(in.entries) == 0 }

// Expect queues the requests of f's last feed.
func (in *Inbox) Expect(f *ClientFlow) {
	for i := range f.requests {
		o := &f.requests[i]
		if in.ignored(o) {
			o.undo(f.names)
			continue
		}
		in.entries = append(in.entries, *o)
		in.count(o)
	}
}

// count adds the request to what is counted.
func (in *Inbox) count(o *request) {
	in.size += int(o.size)
	if o.kind.Flushes() && !o.hidden {
		in.flushing++
	}
}

// ignored takes note of a request, and reports whether the server will not reply to it, so that it
// is not to be queued. A Sync ends known.skips and likelySkips, the end of a COPY ends copies, and
// a probe query that will be skipped is settled as undone.
func (in *Inbox) ignored(o *request) bool {
	in.likelySkips = in.likelySkips && giveUp(o)
	switch o.kind {
	case requests.Sync:
		in.known.skips = false
		return in.copies && len(in.entries) >= maxOutstanding // see tracker.copies
	case requests.CopyEnd:
		in.copies = false
	}
	return in.known.skips
}

// Backlog is the backlog with the entries.
func (in *Inbox) Backlog() Backlog {
	if in.copies {
		return Backlog{Flushing: in.flushing, copies: true}
	}
	now := in.known
	now.Outstanding += len(in.entries)
	now.size += in.size
	now.Flushing += in.flushing
	return now
}

// Collect moves the entries to f's queue. It is called after reading from the server: a request is
// put into the Inbox before it is written, so the requests that the replies just read belong to are
// in the queue then.
func (in *Inbox) Collect(f *serverFlow) {
	f.queueUp(in.entries)
	clear(in.entries)
	in.size, in.flushing = 0, 0
	if cap(in.entries) > requestsKeep {
		in.entries = nil
	} else {
		in.entries = in.entries[:0]
	}
	in.known = f.Backlog()
}

// Publish takes over the backlog of f after a batch of replies. Where the server now skips what
// comes, it gives up what waits for a reply that will not come.
func (in *Inbox) Publish(f *serverFlow) {
	in.known, in.copies = f.Backlog(), f.copies()
	in.likelySkips = f.skipsOn()
	if !in.likelySkips && !in.known.skips && !in.copies {
		return
	}
	kept := in.entries[:0]
	in.size, in.flushing = 0, 0
	for i := range in.entries {
		o := in.entries[i]
		if in.ignored(&o) {
			o.undo(&f.names)
			continue
		}
		kept = append(kept, o)
		in.count(&o)
	}
	clear(in.entries[len(kept):])
	in.entries = kept
}
