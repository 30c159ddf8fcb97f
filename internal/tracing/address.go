package tracing

import (
	"strings"
	"sync"
	"sync/atomic"
	"unicode/utf8"

	commonpb "go.opentelemetry.io/proto/otlp/common/v1"
	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/protobuf/proto"
)

// maxAddresses bounds how many addresses are kept; one takes a few hundred bytes, at most about 2 KiB.
const maxAddresses = 512

// addressKey is what an address is known by.
type addressKey struct {
	Destination
	database string
}

// address is what all spans have in common that say of a call to one queue. It is immutable.
type address struct {
	name string // of the span
	// encoded has the name and those attributes that are the same for all of them, as they stand in
	// OTLP's message for a span. A message may be put together of pieces that are encoded by
	// themselves.
	encoded []byte
}

// addresses keeps the addresses that were used last.
type addresses struct {
	last  atomic.Pointer[knownAddress] // that was asked for last, which most calls ask for again
	mu    sync.RWMutex
	known map[addressKey]*knownAddress
}

// knownAddress is an address with what it is known by. It is immutable.
type knownAddress struct {
	key addressKey
	address
}

// of returns the address of a call in that database.
func (a *addresses) of(d Destination, database string) *address {
	for _, name := range []*string{&d.Queue, &d.Consumer, &database} {
		if len(*name) > maxName {
			*name = bounded(*name)
		}
	}
	key := addressKey{d, database}
	if last := a.last.Load(); last != nil && last.key == key {
		return &last.address
	}
	a.mu.RLock()
	found := a.known[key]
	a.mu.RUnlock()
	if found != nil {
		a.last.Store(found)
		return &found.address
	}
	key.Queue, key.Consumer, key.database = strings.Clone(bounded(d.Queue)), strings.Clone(bounded(d.Consumer)), strings.Clone(bounded(database))
	made := &knownAddress{key, key.address()}
	a.last.Store(made)
	a.mu.Lock()
	defer a.mu.Unlock()
	if len(a.known) >= maxAddresses {
		clear(a.known)
	}
	if a.known == nil {
		a.known = map[addressKey]*knownAddress{}
	}
	a.known[key] = made
	return &made.address
}

// address makes the address.
func (k addressKey) address() address {
	a := address{name: k.Operation.Name}
	if k.Queue != "" {
		a.name += " " + k.Queue
	}
	attributes := []*commonpb.KeyValue{text("messaging.system", systemName), text("messaging.operation.name", k.Operation.Name)}
	for _, of := range [][2]string{
		{"messaging.operation.type", k.Operation.Type}, {"db.namespace", k.database}, {"messaging.destination.name", k.Queue}, {"messaging.consumer.group.name", k.Consumer},
	} {
		if of[1] != "" {
			attributes = append(attributes, text(of[0], of[1]))
		}
	}
	encoded, err := proto.Marshal(&tracepb.Span{Name: a.name, Attributes: attributes})
	if err != nil { // a text that is not UTF-8, which bounded does not return
		panic(err)
	}
	a.encoded = encoded
	return a
}

// bounded returns a text that a client has chosen as it may stand in a span: valid, and short.
func bounded(text string) string {
	if len(text) > maxName {
		text = text[:maxName]
		for len(text) > 0 && !utf8.ValidString(text[max(0, len(text)-utf8.UTFMax):]) && utf8.RuneStart(text[len(text)-1]) {
			text = text[:len(text)-1]
		}
	}
	return strings.ToValidUTF8(text, "\ufffd")
}
