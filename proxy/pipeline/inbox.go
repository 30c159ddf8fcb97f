package pipeline

// Inbox takes the requests from the direction client to server, which is about to write them, to the other, and the backlog the
// other way, where each direction has a goroutine of its own. Its owner guards it with a mutex. Where one goroutine serves both
// directions there is no need of it.
type Inbox struct {
	entries []request
	size    int // request.size of all
	ends    int // entries of kinds that flush
	// known is the backlog without entries; copies says that the server takes the data of a COPY.
	known  Backlog
	copies bool
	// skips says that the server skips what it is sent up to the next Sync, as far as can be told.
	skips bool
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
	if o.kind.flushes() {
		in.ends++
	}
}

// ignored reports whether the server will not reply to a request, which is not to be queued then. It gives up the probe
// queries among the requests that the server is going to skip.
func (in *Inbox) ignored(o *request) bool {
	in.skips = in.skips && giveUp(o)
	switch o.kind {
	case kindSync:
		in.known.skips = false
		return in.copies && len(in.entries) >= maxOutstanding // see tracker.copies
	case copyEnd:
		in.copies = false
	}
	return in.known.skips
}

// Backlog is the backlog with the entries.
func (in *Inbox) Backlog() Backlog {
	if in.copies {
		return Backlog{Ends: in.ends}
	}
	now := in.known
	now.Outstanding += len(in.entries)
	now.size += in.size
	now.Ends += in.ends
	return now
}

// Collect hands the entries over to f. A reply that was read before the call is to a request that was queued before it.
func (in *Inbox) Collect(f *serverFlow) {
	f.queueUp(in.entries)
	clear(in.entries)
	in.size, in.ends = 0, 0
	if cap(in.entries) > requestsKeep {
		in.entries = nil
	} else {
		in.entries = in.entries[:0]
	}
	in.known = f.Backlog()
}

// Publish takes over the backlog of f after a batch of replies. Where the server now skips what comes, it gives up what waits for
// a reply that will not come.
func (in *Inbox) Publish(f *serverFlow) {
	in.known, in.copies = f.Backlog(), f.copies()
	in.skips = f.skipsOn()
	if !in.skips && !in.known.skips && !in.copies {
		return
	}
	kept := in.entries[:0]
	in.size, in.ends = 0, 0
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
