package tracing

// Operation is what a call does, in the words of the conventions for messaging.
type Operation struct {
	Name string // messaging.operation.name, with which the span's name begins
	Type string // messaging.operation.type; "": none of the conventions'
}

// The types of operations. https://opentelemetry.io/docs/specs/semconv/messaging/messaging-spans/
const (
	typeSend    = "send"
	typeReceive = "receive"
	typeSettle  = "settle"
)

// OperationOf returns the operation that a function does; serves is the name of the function of the
// catalogue that does the work.
func OperationOf(serves string) Operation {
	switch serves {
	case "post", "add_message":
		return Operation{"send", typeSend}
	case "consume", "consumen", "consume_json", "dyn_consume", "take", "take_from", "lease", "get_next_message":
		return Operation{"receive", typeReceive}
	case "ack", "retry", "fail", "extend", "complete_message", "release_messages":
		return Operation{serves, typeSettle}
	}
	return Operation{Name: serves}
}
