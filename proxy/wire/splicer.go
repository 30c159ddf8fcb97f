package wire

// Splicer collects what is to be written for one batch. As long as nothing was taken out or put
// in, that is a piece of the batch's own buffer and nothing is copied.
type Splicer struct {
	Pool *BufferPool
	buf  []byte // the batch
	from int    // what lies before is settled: dropped, or copied to made
	stop int    // what lies behind is not to be written
	made []byte // pooled; nil until first needed
}

// Begin starts with all of buf to be written.
func (a *Splicer) Begin(buf []byte) {
	a.buf, a.from, a.stop = buf, 0, len(buf)
	a.made = a.made[:0]
}

// Replace puts repl in the place of buf[start:end]. Calls come in ascending order. A repl longer than MaxNames is no longer
// the caller's: it need not be copied.
func (a *Splicer) Replace(start, end int, repl []byte) {
	switch {
	case len(repl) > MaxNames && start <= a.from && len(a.made) == 0:
		a.Pool.Put(a.made)
		a.made = repl
	case len(repl) > 0 || start > a.from:
		if a.made == nil {
			a.made = a.Pool.Get()[:0]
		}
		a.made = append(a.made, a.buf[a.from:start]...)
		a.made = append(a.made, repl...)
	}
	a.from = end
}

// Full reports that what was put together fills most of a pooled buffer: with more of it that would be copied to a larger one.
func (a *Splicer) Full() bool { return len(a.made) > bufferSize*3/4 }

// Truncate leaves out buf[stop:].
func (a *Splicer) Truncate(stop int) { a.stop = stop }

// Result returns what is to be written; it is valid until Begin or Free.
func (a *Splicer) Result() []byte {
	rest := a.buf[min(a.from, a.stop):a.stop]
	if len(a.made) == 0 {
		return rest
	}
	a.made = append(a.made, rest...)
	return a.made
}

// Detach gives pooled memory back and keeps the Result, for one that is written later: very many may be waiting for
// that at a time.
func (a *Splicer) Detach() {
	if a.made == nil {
		return
	}
	result := a.Own(a.Result())
	a.Free()
	a.Begin(result)
}

// Own returns b, the end of the Result, as memory that outlives Begin and Free: a copy, unless it lies in memory that has
// outgrown the pool.
func (a *Splicer) Own(b []byte) []byte {
	if len(a.made) == 0 || isPooled(a.made) {
		return append([]byte(nil), b...)
	}
	a.made = nil
	return b
}

// Free gives memory back; a Splicer that waits holds none.
func (a *Splicer) Free() {
	a.buf = nil
	if a.made != nil {
		a.Pool.Put(a.made)
		a.made = nil
	}
}
