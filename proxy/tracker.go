package proxy

import "fmt"

// tracker follows the server's replies through the queue of what it owes. It belongs to the
// direction server -> client alone.
type tracker struct {
	queue ring
	// skipping is entered by an ErrorResponse in extended protocol and left by the ReadyForQuery
	// of the next Sync: the server ignores all messages in between, those sent later as well.
	skipping bool
	// copyIn is entered by CopyInResponse and left by CommandComplete or ErrorResponse: the head
	// of the queue is a COPY FROM STDIN, during which the server ignores Sync and Flush.
	copyIn bool
	// txn is the transaction status of the last ReadyForQuery: 'I', 'T' or 'E'.
	txn   byte
	names names
}

// expect queues what the server will owe for messages about to be written.
func (t *tracker) expect(news []owed) {
	for _, o := range news {
		t.queue.push(o)
	}
}

// desynced is the error of a reply that cannot answer the head of the queue.
type desynced struct {
	typ  byte
	head replyKind
}

func (d *desynced) Error() string {
	return fmt.Sprintf("server sent %q while owing a reply to %s", d.typ, d.head)
}

// idle reports that no reply is owed and no transaction is open.
func (t *tracker) idle() bool {
	if t.txn != 'I' {
		return false
	}
	for i := range t.queue.n {
		if o := t.queue.at(i); !o.optional && o.kind != copyEnd {
			return false
		}
	}
	return true
}

// head returns the entry being answered, or nil.
func (t *tracker) head() *owed {
	if t.queue.n == 0 {
		return nil
	}
	return t.queue.at(0)
}

// settle drops the entries that stay without reply until the head accepts typ. It returns nil
// when none does.
func (t *tracker) settle(typ byte) *owed {
	for t.queue.n > 0 {
		h := t.queue.at(0)
		passed := t.skipping && h.kind != owedSync
		if !passed && h.kind.accepts(typ) {
			return h
		}
		if !passed && !h.optional && h.kind != copyEnd {
			return nil
		}
		t.queue.pop()
	}
	return nil
}

func (t *tracker) impossible(typ byte) error {
	d := &desynced{typ: typ}
	if h := t.head(); h != nil {
		d.head = h.kind
	}
	return d
}

// answer takes note of a reply of type typ that carries nothing else of interest: all but
// ErrorResponse, ReadyForQuery, CommandComplete and what comes unasked.
func (t *tracker) answer(typ byte) error {
	h := t.settle(typ)
	if h == nil {
		return t.impossible(typ)
	}
	h.optional = false
	switch typ {
	case msgRowDescription, msgNoData:
		if h.kind == owedDescribe {
			t.queue.pop()
		}
	case msgEmptyQueryResponse, msgPortalSuspended:
		if h.kind == owedExecute {
			t.queue.pop()
		}
	case msgCopyInResponse:
		t.copyIn = true
	case msgParseComplete:
		t.names.parsed(h.about)
		t.queue.pop()
	case msgBindComplete:
		t.names.bound(h.about)
		t.queue.pop()
	case msgCloseComplete:
		t.names.closed(h.about)
		t.queue.pop()
	}
	return nil
}

// completed takes note of a CommandComplete; tag is empty when nobody needs it.
func (t *tracker) completed(tag string) error {
	h := t.settle(msgCommandComplete)
	if h == nil {
		return t.impossible(msgCommandComplete)
	}
	t.names.completed(h.about, tag)
	answered := *h
	t.queue.pop()
	if t.copyIn {
		// The server has read the CopyDone, and before it what was queued behind the statement.
		t.copyIn = false
		for t.queue.n > 0 {
			kind := t.queue.at(0).kind
			t.queue.pop()
			if kind == copyEnd {
				break
			}
		}
	}
	if answered.kind == owedQuery { // more statements may follow, ReadyForQuery must
		answered.optional = false
		t.queue.pushFront(answered)
	}
	return nil
}

// failed takes note of an ErrorResponse. It is never impossible: a FATAL one comes at any time.
func (t *tracker) failed() {
	if t.skipping {
		return
	}
	h := t.settle(msgErrorResponse)
	if h == nil {
		return
	}
	h.optional = false
	kind := h.kind
	t.names.failed(h)
	if t.copyIn {
		t.copyIn = false
		t.doubt()
	}
	if kind.extended() {
		t.skipping = true
		t.queue.pop()
	}
}

// doubt marks the Syncs sent before the end of a COPY FROM STDIN that failed: the server has
// ignored them if it read them while copying, and answers them if it failed before (in a trigger,
// say). Which of the two happened shows only when the next replies come.
func (t *tracker) doubt() {
	for i := 1; i < t.queue.n; i++ {
		o := t.queue.at(i)
		if o.kind == copyEnd {
			return
		}
		if o.kind == owedSync {
			o.optional = true
		}
	}
}

// ready takes note of a ReadyForQuery with the given transaction status.
func (t *tracker) ready(status byte) error {
	h := t.settle(msgReadyForQuery)
	if h == nil {
		return t.impossible(msgReadyForQuery)
	}
	answered := *h
	t.queue.pop()
	t.skipping, t.copyIn = false, false
	t.txn = status
	t.names.ready(answered.kind, status)
	if answered.optional {
		// It may have answered the next certain Sync instead; then nothing up to that one is
		// answered any more.
		t.doubtUntilSync()
	}
	return nil
}

func (t *tracker) doubtUntilSync() {
	for i := range t.queue.n {
		if o := t.queue.at(i); o.kind == owedSync && !o.optional {
			for j := range i + 1 {
				t.queue.at(j).optional = true
			}
			return
		}
	}
}
