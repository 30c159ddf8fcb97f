package wire

import "encoding/binary"

// Values are the parameters of a Bind. They lie in a buffer that is used again: nothing of them may
// be kept after the call they were given to.
type Values struct {
	known  bool
	params []Value
}

// Value is one parameter as it was sent.
type Value struct {
	Bytes  []byte // nil when Null
	Null   bool
	Format uint16 // 0: text, 1: binary; any other is refused by the server
}

// Known is false when the Bind was too long to be held, so that nothing is known of its
// parameters, not even how many there are.
func (v Values) Known() bool { return v.known }

// Len is the number of parameters.
func (v Values) Len() int { return len(v.params) }

// Get returns parameter n, counted from 1 as in $1; ok is false when there is none.
func (v Values) Get(n int) (value Value, ok bool) {
	if n < 1 || n > len(v.params) {
		return Value{}, false
	}
	return v.params[n-1], true
}

// ReadValues reads the body of a Bind. ok is false when the parameters are not what a Bind may
// hold; the server refuses such a message. What follows them is not looked at.
func ReadValues(bind []byte) (v Values, ok bool) {
	r, ok := readerOf(bind)
	// Each parameter has a length of 4 bytes, so no more is allocated than was sent.
	if !ok || len(r.rest) < 4*r.count {
		return Values{}, false
	}
	v = Values{known: true, params: make([]Value, r.count)}
	for i := range v.params {
		if v.params[i], ok = r.next(); !ok {
			return Values{}, false
		}
	}
	return v, true
}

// ReadValue reads the value of the n-th parameter in the body of a Bind; false where it has none.
func ReadValue(bind []byte, n int) (v Value, ok bool) {
	r, ok := readerOf(bind)
	if !ok || n < 1 || n > r.count {
		return Value{}, false
	}
	for range n {
		if v, ok = r.next(); !ok {
			return Value{}, false
		}
	}
	return v, true
}

// valueReader reads the values in the body of a Bind, one after the other.
type valueReader struct {
	codes   []byte // of the formats
	formats int    // how many there are: none, one for all, or one for each
	count   int    // of values
	read    int
	rest    []byte
}

func readerOf(bind []byte) (r valueReader, ok bool) {
	_, _, rest, ok := BindNames(bind)
	if !ok {
		return r, false
	}
	if r.formats, rest, ok = count16(rest); !ok || len(rest) < 2*r.formats {
		return r, false
	}
	r.codes = rest[:2*r.formats]
	r.count, r.rest, ok = count16(rest[2*r.formats:])
	return r, ok && (r.formats <= 1 || r.formats == r.count)
}

// next returns the next value, of which there must be one more.
func (r *valueReader) next() (v Value, ok bool) {
	switch r.formats {
	case 0:
	case 1:
		v.Format = binary.BigEndian.Uint16(r.codes)
	default:
		v.Format = binary.BigEndian.Uint16(r.codes[2*r.read:])
	}
	r.read++
	if len(r.rest) < 4 {
		return Value{}, false
	}
	size := binary.BigEndian.Uint32(r.rest)
	r.rest = r.rest[4:]
	if size == 0xffffffff { // -1
		v.Null = true
		return v, true
	}
	if uint64(size) > uint64(len(r.rest)) {
		return Value{}, false
	}
	v.Bytes, r.rest = r.rest[:size:size], r.rest[size:]
	return v, true
}

// TextValues returns what stands behind the names in a Bind whose parameters and results are all in text form.
func TextValues(values []string) []byte {
	out := binary.BigEndian.AppendUint16([]byte{0, 0}, uint16(len(values)))
	for _, v := range values {
		out = binary.BigEndian.AppendUint32(out, uint32(len(v)))
		out = append(out, v...)
	}
	return append(out, 0, 0)
}

// BindNames splits the body of a Bind, or the head of one, behind its names.
func BindNames(bind []byte) (portal, statement, rest []byte, ok bool) {
	if portal, rest, ok = CString(bind); !ok {
		return nil, nil, nil, false
	}
	statement, rest, ok = CString(rest)
	return portal, statement, rest, ok
}

// count16 reads an unsigned number of two bytes.
func count16(b []byte) (n int, rest []byte, ok bool) {
	if len(b) < 2 {
		return 0, nil, false
	}
	return int(binary.BigEndian.Uint16(b)), b[2:], true
}

// WithParameter returns the part of a Bind behind the names with one more parameter, a text. It is
// a copy. ok is false where the Bind has not as many others as said, or is malformed.
func WithParameter(rest []byte, parameters int, value string) (out []byte, ok bool) {
	formats, behind, ok := count16(rest)
	if !ok || len(behind) < 2*formats || formats > 1 && formats != parameters || parameters >= 1<<16-1 {
		return nil, false
	}
	codes, behind := behind[:2*formats], behind[2*formats:]
	n, values, ok := count16(behind)
	if !ok || n != parameters {
		return nil, false
	}
	end := values
	for range n {
		if len(end) < 4 {
			return nil, false
		}
		size := int(int32(binary.BigEndian.Uint32(end)))
		if end = end[4:]; size > len(end) || size < -1 {
			return nil, false
		}
		end = end[max(size, 0):]
	}
	if formats > 1 {
		formats++
	}
	out = make([]byte, 0, len(rest)+len(value)+8)
	out = append(binary.BigEndian.AppendUint16(out, uint16(formats)), codes...)
	if formats > 1 {
		out = append(out, 0, 0)
	}
	out = binary.BigEndian.AppendUint16(out, uint16(n+1))
	out = append(out, values[:len(values)-len(end)]...)
	out = append(binary.BigEndian.AppendUint32(out, uint32(len(value))), value...)
	return append(out, end...), true
}

// WithoutLastParameter returns a ParameterDescription without its last parameter, or nil where it has none.
func WithoutLastParameter(frame []byte) []byte {
	n, types, ok := count16(frame[HeaderSize:])
	if !ok || n == 0 || len(types) != 4*n {
		return nil
	}
	return AppendFrame(nil, MsgParameterDescription, binary.BigEndian.AppendUint16(nil, uint16(n-1)), types[:4*(n-1)])
}
