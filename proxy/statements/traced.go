package statements

import (
	"time"

	"mbusproxy/proxy/wire"
)

// Traced is a Plan that may be traced.
type Traced interface {
	Plan
	// Traces reports whether it is. Only then the others are called.
	Traces() bool
	// Trace is called when the plan is about to run as soon as its text has come, as that of a
	// Query does, or has failed to be parsed. Either direction may call it.
	Trace() Trace
	// Portals returns what traces the portals of a statement, which keeps nothing of the plan.
	Portals() PortalTracer
}

// PortalTracer traces the portals of a statement.
type PortalTracer interface {
	// Trace is called for each Bind, with its values, of which it must not keep anything, and when
	// the client has sent it.
	Trace(values wire.Values, since time.Time) Trace
}

// Trace follows one run of a plan. Once the request is queued it belongs to the direction server to client.
type Trace interface {
	// WantsRows reports whether Row is to be called for the next row of the reply.
	WantsRows() bool
	// Row is shown the body of a DataRow, of which it must not keep anything.
	Row(body []byte) (more bool)
	// Completed gets the tag of a CommandComplete.
	Completed(tag string)
	// Failed ends the trace with the SQLSTATE that the client is told; "" where it is not known.
	Failed(code string)
	// Ended ends the trace. Whatever comes after that is ignored.
	Ended()
}
