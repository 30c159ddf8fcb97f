package pipeline

// Backlog is what the server is known to be doing.
type Backlog struct {
	// Outstanding is the number of requests that it has not replied to, and size are their bytes.
	Outstanding, size int
	// Flushing is how many of them are the client's and end with a flush by the server: Query, FunctionCall, Sync.
	Flushing int
	// skips says that the server ignores all up to the next Sync, copies that it takes the data of a COPY.
	skips, copies bool
	// block says that a transaction block was open at the last ReadyForQuery, failed that it had failed.
	block, failed bool
}

// Busy reports whether the server has something to reply to, or takes the data of a COPY.
func (b Backlog) Busy() bool { return b.Outstanding > 0 || b.copies }

// InBlock reports whether a transaction block was open at the last ReadyForQuery.
func (b Backlog) InBlock() bool { return b.block || b.failed }

// Failed reports whether that transaction block had failed.
func (b Backlog) Failed() bool { return b.failed }

// Roomy reports whether a client that had to wait may go on.
func (b Backlog) Roomy() bool {
	return b.Outstanding <= maxOutstanding/2 && b.size <= maxOutstandingBytes/2
}
