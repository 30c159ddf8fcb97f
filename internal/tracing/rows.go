package tracing

import (
	"bytes"
	"encoding/binary"

	"go.opentelemetry.io/otel/trace"
)

// How a traceparent stands in a row: in the text of an hstore, in that of a record that holds one, whose quotes are doubled, and in the
// binary form of an hstore, where lengths stand before the key and the value.
var (
	inText   = []byte(`"traceparent"=>"`)            //nolint:gochecknoglobals // constant
	inRecord = []byte(`""traceparent""=>""`)         //nolint:gochecknoglobals // constant
	inBinary = []byte("\x00\x00\x00\x0btraceparent") //nolint:gochecknoglobals // constant
	needle   = []byte(traceparentKey)                //nolint:gochecknoglobals // constant
	length55 = []byte{0, 0, 0, traceparentLen}       //nolint:gochecknoglobals // constant
)

// fromRow returns the first context in the body of a DataRow. In a message's row that is the one of its headers, which stand before what
// else a client may have written; where a row is of something else, it is whatever the client has asked for.
func fromRow(body []byte) (sc trace.SpanContext, ok bool) {
	if !bytes.Contains(body, needle) {
		return sc, false
	}
	for _, form := range [][]byte{inText, inRecord, inBinary} {
		i := bytes.Index(body, form)
		if i < 0 {
			continue
		}
		value := body[i+len(form):]
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
