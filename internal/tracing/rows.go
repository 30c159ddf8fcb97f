package tracing

import (
	"bytes"
	"encoding/binary"
	"iter"

	"go.opentelemetry.io/otel/trace"
)

// How a traceparent stands in a row: in the text of an hstore, in that of a record that holds one,
// whose quotes are doubled, and in the binary form of an hstore, where lengths stand before the key
// and the value.
var (
	inText   = []byte(`"traceparent"=>"`)            //nolint:gochecknoglobals // constant
	inRecord = []byte(`""traceparent""=>""`)         //nolint:gochecknoglobals // constant
	inBinary = []byte("\x00\x00\x00\x0btraceparent") //nolint:gochecknoglobals // constant
	needle   = []byte(TraceparentKey)                //nolint:gochecknoglobals // constant
	length55 = []byte{0, 0, 0, traceparentLen}       //nolint:gochecknoglobals // constant
)

// fromRow returns the first context in the body of a DataRow: in the headers of a message, or alone
// in a column. A message's headers stand before what else its poster has written; where a row is of
// something else, it is whatever the client has asked for.
func fromRow(body []byte) (sc trace.SpanContext, ok bool) {
	for column := range columns(body) {
		if len(column) == traceparentLen && column[2] == '-' {
			if sc, ok = parseTraceparent(string(column)); ok {
				return sc, true
			}
			continue
		}
		if !bytes.Contains(column, needle) {
			continue
		}
		if sc, ok = fromHeaders(column); ok {
			return sc, true
		}
	}
	return sc, false
}

// columns gives the values of a DataRow that are not null.
func columns(body []byte) iter.Seq[[]byte] {
	return func(yield func([]byte) bool) {
		for rest := body[min(2, len(body)):]; len(rest) >= 4; {
			n := int(int32(binary.BigEndian.Uint32(rest)))
			if rest = rest[4:]; n < 0 {
				continue
			}
			if n > len(rest) || !yield(rest[:n]) {
				return
			}
			rest = rest[n:]
		}
	}
}

// fromHeaders returns the context in the headers of a message.
func fromHeaders(column []byte) (sc trace.SpanContext, ok bool) {
	for _, form := range [][]byte{inText, inRecord, inBinary} {
		_, value, found := bytes.Cut(column, form)
		if !found {
			continue
		}
		if &form[0] == &inBinary[0] {
			if !bytes.HasPrefix(value, length55) {
				continue
			}
			value = value[len(length55):]
		}
		if len(value) < traceparentLen {
			continue
		}
		if sc, ok = parseTraceparent(string(value[:traceparentLen])); ok {
			return sc, true
		}
	}
	return sc, false
}

// onlyText returns the value of a DataRow that has one column; false for any other, and for null.
func onlyText(body []byte) (string, bool) {
	if len(body) < 6 || binary.BigEndian.Uint16(body) != 1 {
		return "", false
	}
	n := int(int32(binary.BigEndian.Uint32(body[2:])))
	if n < 0 || n != len(body)-6 {
		return "", false
	}
	return string(body[6:]), true
}
