package pipeline

// Inbox is what the direction client -> server tells the other of the messages it is about to write, where each
// of them has a goroutine, and what it gets to know of where the server stands. Its owner guards it with a mutex.
// Where one goroutine serves both directions there is no need of it.
type Inbox struct {
	entries []owed
	size    int // owed.size of all
	ends    int // entries of kinds that flush
	// known is where the server stands but for entries, copies whether it takes the data of a COPY.
	known  Backlog
	copies bool
	// skips means that the server skips what it is sent up to the next Sync; see ignored.
	skips bool
}

// Empty reports whether nothing is queued.
func (in *Inbox) Empty() bool { return len(in.entries) == 0 }

// Expect queues what the server will owe for the messages of f's last feed.
func (in *Inbox) Expect(f *ClientFlow) {
	for i := range f.news {
		o := &f.news[i]
		if in.ignored(o) {
			o.undo()
			continue
		}
		in.entries = append(in.entries, *o)
		in.count(o)
	}
}

func (in *Inbox) count(o *owed) {
	in.size += int(o.size)
	if o.kind.flushes() {
		in.ends++
	}
}

// ignored reports that nothing will be owed for a message, which is not to be noted. It gives up the
// questions among messages that the server is going to skip.
func (in *Inbox) ignored(o *owed) bool {
	in.skips = in.skips && giveUp(o)
	switch o.kind {
	case owedSync:
		in.known.skips = false
		return in.copies && len(in.entries) >= maxOwed // see tracker.copies
	case copyEnd:
		in.copies = false
	}
	return in.known.skips
}

// Backlog is where the server stands, with entries.
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

// Collect hands over to f what was queued. All replies in a batch that was read before are owed to messages queued
// before.
func (in *Inbox) Collect(f *serverFlow) {
	f.queueUp(in.entries)
	clear(in.entries)
	in.size, in.ends = 0, 0
	if cap(in.entries) > newsKeep {
		in.entries = nil
	} else {
		in.entries = in.entries[:0]
	}
	in.known = f.Backlog()
}

// Publish tells, after a batch of replies, where the server stands: whether it skips what comes now,
// for then no reply would ever end the wait for an answer, and whether it owes less.
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
			o.undo()
			continue
		}
		kept = append(kept, o)
		in.count(&o)
	}
	clear(in.entries[len(kept):])
	in.entries = kept
}
