package wire

import "sync"

// bufferSize is how much one read takes at most. Postgres itself reads and writes in pieces of
// 8 KiB (PQ_SEND_BUFFER_SIZE, PQ_RECV_BUFFER_SIZE); twice that takes a full one in one read.
const bufferSize = 16 << 10

// BufferPool holds the free buffers of a Server. It keeps pointers to arrays, for putting a slice
// into an interface would allocate.
type BufferPool struct{ free sync.Pool }

// NewBufferPool has no buffer yet.
func NewBufferPool() *BufferPool {
	return &BufferPool{free: sync.Pool{New: func() any { return new([bufferSize]byte) }}}
}

// Get returns a buffer, to be given back with Put.
func (p *BufferPool) Get() []byte { return p.free.Get().(*[bufferSize]byte)[:] }

// isPooled reports whether b is one of a pool, and has not grown out of it.
func isPooled(b []byte) bool { return cap(b) == bufferSize }

// Put gives back b; a slice that grew out of its buffer is left to the collector.
func (p *BufferPool) Put(b []byte) {
	if isPooled(b) {
		p.free.Put((*[bufferSize]byte)(b[:bufferSize]))
	}
}
