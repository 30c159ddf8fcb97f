package pipeline

import "mbusproxy/proxy/pipeline/requests"

// Bounds of what is outstanding at a time. Beyond them the client is not read until the server has replied to half of
// it; see ClientFlow.full.
const (
	maxOutstanding      = 4096      // messages
	maxOutstandingBytes = 256 << 10 // request.size of all
)

// requestQueue holds the outstanding requests in the order in which they were sent, as the command queue of libpq
// does. It grows as needed and gives memory back when it is empty.
type requestQueue struct {
	entries  []request // length is zero or a power of two
	head     int
	n        int
	size     int // request.size of all
	flushing int // entries of kinds that flush, without ours
	copies   int // entries that are ends of COPY
}

const (
	queueSmall = 8   // entries of the first allocation
	queueKeep  = 256 // entries an empty requestQueue may keep
)

func (q *requestQueue) at(i int) *request { return &q.entries[(q.head+i)&(len(q.entries)-1)] }

func (q *requestQueue) push(r request) {
	if q.n == len(q.entries) {
		grown := make([]request, max(queueSmall, 2*len(q.entries)))
		for i := range q.n {
			grown[i] = *q.at(i)
		}
		q.entries, q.head = grown, 0
	}
	q.n++
	q.count(&r, 1)
	*q.at(q.n - 1) = r
}

// count adds the request to what is counted with 1, and takes it off with -1.
func (q *requestQueue) count(r *request, n int) {
	q.size += n * int(r.size)
	switch {
	case r.kind.Flushes() && !r.hidden:
		q.flushing += n
	case r.kind == requests.CopyEnd:
		q.copies += n
	}
}

// rest gives the memory of an empty queue back.
func (q *requestQueue) rest() {
	if q.n == 0 {
		q.entries, q.head = nil, 0
	}
}

// pop drops the oldest request.
func (q *requestQueue) pop() {
	q.count(q.at(0), -1)
	*q.at(0) = request{}
	q.head = (q.head + 1) & (len(q.entries) - 1)
	q.n--
	if q.n == 0 && len(q.entries) > queueKeep {
		q.entries, q.head = nil, 0
	}
}
