package rewriter

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"strconv"

	"mbusproxy/proxy/wire"
	"mbusproxy/rewrite/plan"
	"mbusproxy/sqlfuncs"
)

// bound are the parameters of a Bind; nil where there is none.
type bound struct {
	wire.Values
	encoding string // in which texts have come, as statements.Context.Encoding
}

// SQLSTATEs with which the server refuses parameters of a Bind.
const (
	codeInvalidParameter = "22023" // invalid_parameter_value
	codeNotInRepertoire  = "22021" // character_not_in_repertoire
	codeBinaryUnreadable = "22P03" // invalid_binary_representation
)

// parameter returns the text of parameter $n, which is of type t; with Void nothing is known of its
// type. It is nil for null. What the server would refuse is refused as it does: the text becomes
// part of a statement of ours, which the server gets first.
func (b *bound) parameter(n int, t sqlfuncs.Type) (*string, *plan.Refusal) {
	sent, ok := b.Get(n)
	if !ok || sent.Null { // of a parameter that was not sent the server says so
		return nil, nil
	}
	switch sent.Format {
	case 0: // text
	case 1: // binary
		switch t {
		case sqlfuncs.Void:
			return nil, &plan.Refusal{
				Code:    codeFeatureNotSupported,
				Message: fmt.Sprintf("parameter $%d has come in binary form, and its type must be known before the statement runs", n),
				Hint:    fmt.Sprintf("Cast it to its type, for example $%d::text.", n),
			}
		case sqlfuncs.Boolean:
			return binaryText(n, sent.Bytes, "a boolean", "1 byte", booleanText)
		case sqlfuncs.Integer, sqlfuncs.BigInt:
			return binaryText(n, sent.Bytes, "an integer", "2, 4 or 8 bytes", integerText)
		case sqlfuncs.Interval:
			return binaryText(n, sent.Bytes, "an interval", "16 bytes", intervalText)
		}
	default:
		return nil, &plan.Refusal{Code: codeInvalidParameter, Message: fmt.Sprintf("unsupported format code: %d", int16(sent.Format))}
	}
	if bytes.IndexByte(sent.Bytes, 0) >= 0 { // a text is the same in both formats
		encoding := b.encoding
		if encoding == "" {
			encoding = "UTF8"
		}
		return nil, &plan.Refusal{Code: codeNotInRepertoire, Message: fmt.Sprintf("invalid byte sequence for encoding \"%s\": 0x00", encoding)}
	}
	text := string(sent.Bytes)
	return &text, nil
}

// binaryText returns the text of parameter $n, which has come in binary form. read returns "" for
// what it cannot read; what it reads is of the given kind and size, for people.
func binaryText(n int, sent []byte, kind, size string, read func([]byte) string) (*string, *plan.Refusal) {
	text := read(sent)
	if text == "" {
		return nil, &plan.Refusal{
			Code:    codeBinaryUnreadable,
			Message: fmt.Sprintf("incorrect binary data format in bind parameter %d", n),
			Detail:  fmt.Sprintf("It is %s, whose binary form has %s, and not %d.", kind, size, len(sent)),
			Hint:    "Send it as a text, or in the form of its type.",
		}
	}
	return &text, nil
}

// booleanText reads a boolean in binary format; to the server any byte but zero is true.
func booleanText(b []byte) string {
	if len(b) != 1 {
		return ""
	}
	return strconv.FormatBool(b[0] != 0)
}

// integerText reads an integer in binary format, of whatever size.
func integerText(b []byte) string {
	var n int64
	switch len(b) {
	case 2:
		n = int64(int16(binary.BigEndian.Uint16(b)))
	case 4:
		n = int64(int32(binary.BigEndian.Uint32(b)))
	case 8:
		n = int64(binary.BigEndian.Uint64(b))
	default:
		return ""
	}
	return strconv.FormatInt(n, 10)
}

// intervalText reads an interval in binary format: microseconds, days, months.
func intervalText(b []byte) string {
	if len(b) != 16 {
		return ""
	}
	return fmt.Sprintf("%d months %d days %d microseconds", int32(binary.BigEndian.Uint32(b[12:])), int32(binary.BigEndian.Uint32(b[8:])), int64(binary.BigEndian.Uint64(b)))
}
