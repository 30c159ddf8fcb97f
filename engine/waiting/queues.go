package waiting

import (
	"iter"
	"math/bits"
	"strconv"
	"strings"
)

// Queues is a set of queues by their names, so small that it goes with every transaction: a Bloom
// filter of three parts, in each of which a name sets one bit. It may seem to hold a queue that it
// does not hold, one in eight thousand where it is of one name; that costs a look in vain.
type Queues uint64

const (
	bloomParts    = 3
	bloomPartBits = 20

	// AnyQueue is the set of all queues, for what may have changed any of them.
	AnyQueue Queues = 1<<(bloomParts*bloomPartBits) - 1
)

// QueuesOf is the set of one queue. The name is as in the tables. All proxies make the same of it,
// of whatever version they are.
func QueuesOf(name string) Queues {
	const offset, prime = 14695981039346656037, 1099511628211 // FNV-1a
	h := uint64(offset)
	for i := range len(name) {
		h = (h ^ uint64(name[i])) * prime
	}
	h ^= h >> 32
	var q Queues
	for part := range bloomParts {
		q |= 1 << (part*bloomPartBits + int(h%bloomPartBits))
		h /= bloomPartBits
	}
	return q
}

// has reports whether all of other is in q.
func (q Queues) has(other Queues) bool { return q&other == other }

// payload is the set as the payload of a notification; "" is AnyQueue.
func (q Queues) payload() string {
	if q == AnyQueue {
		return ""
	}
	return strconv.FormatUint(uint64(q), 16)
}

// queuesOfPayload reads a payload. Any role may send one, so whatever is none of ours stands for all queues.
func queuesOfPayload(payload string) Queues {
	n, err := strconv.ParseUint(payload, 16, bloomParts*bloomPartBits)
	if err != nil || n == 0 || strings.ContainsAny(payload, "_xX") {
		return AnyQueue
	}
	return Queues(n)
}

// byQueue has the lines by the set of their queue; those of a message that may be in any queue are at 0.
type byQueue map[Queues][]*line

// among gives the lines that a change in those queues may concern.
func (b byQueue) among(q Queues) iter.Seq[*line] {
	return func(yield func(*line) bool) {
		if bits.OnesCount64(uint64(q)) == bloomParts { // one queue, which is the usual case
			_ = each(b[q], yield) && each(b[0], yield)
			return
		}
		for key, lines := range b {
			if q.has(key) && !each(lines, yield) {
				return
			}
		}
	}
}

func each(lines []*line, yield func(*line) bool) bool {
	for _, of := range lines {
		if !yield(of) {
			return false
		}
	}
	return true
}
