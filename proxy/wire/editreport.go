package wire

import (
	"strconv"
	"strings"

	"github.com/jackc/pgx/v5/pgproto3"
)

// fieldOf returns the value of the field with the given type byte of an ErrorResponse; ok is false
// for types this program does not know, which stay as they are.
func fieldOf(r *pgproto3.ErrorResponse, typ byte) (value string, ok bool) {
	switch typ {
	case 'S':
		return r.Severity, true
	case 'V':
		return r.SeverityUnlocalized, true
	case 'C':
		return r.Code, true
	case 'M':
		return r.Message, true
	case 'D':
		return r.Detail, true
	case 'H':
		return r.Hint, true
	case 'P':
		return number(r.Position), true
	case 'p':
		return number(r.InternalPosition), true
	case 'q':
		return r.InternalQuery, true
	case 'W':
		return r.Where, true
	case 's':
		return r.SchemaName, true
	case 't':
		return r.TableName, true
	case 'c':
		return r.ColumnName, true
	case 'd':
		return r.DataTypeName, true
	case 'n':
		return r.ConstraintName, true
	case 'F':
		return r.File, true
	case 'L':
		return number(r.Line), true
	case 'R':
		return r.Routine, true
	default:
		return "", false
	}
}

// number writes a numeric field; zero stands for a field that is not there.
func number(n int32) string {
	if n == 0 {
		return ""
	}
	return strconv.Itoa(int(n))
}

// reportFields are the types of all known fields in the order in which the server sends them
// (send_message_to_frontend in elog.c).
const reportFields = "SVCMDHWstcdnPpqFLR"

// EncodeReport writes the report in frame with the fields that differ between before and after
// changed: fields keep their order, unknown ones their bytes, emptied ones go, and those that are
// added stand where the server would have put them.
func EncodeReport(frame []byte, before, after *pgproto3.ErrorResponse) []byte {
	out := make([]byte, HeaderSize, len(frame)+256)
	out[0] = frame[0]
	var there, seen [256]bool
	for rest := frame[HeaderSize:]; len(rest) > 0 && rest[0] != 0; {
		there[rest[0]] = true
		_, tail, ok := CString(rest[1:])
		if !ok {
			return nil
		}
		rest = tail
	}
	next := 0 // in reportFields
	add := func(end int) {
		for ; next < end; next++ {
			typ := reportFields[next]
			if is, _ := fieldOf(after, typ); !there[typ] && is != "" {
				out = appendField(out, typ, clean(is))
			}
		}
	}
	for rest := frame[HeaderSize:]; len(rest) > 0 && rest[0] != 0; {
		typ := rest[0]
		raw, tail, _ := CString(rest[1:])
		rest = tail
		add(strings.IndexByte(reportFields, typ))
		was, known := fieldOf(before, typ)
		is, _ := fieldOf(after, typ)
		switch {
		case !known, was == is:
			out = appendField(out, typ, string(raw))
		case is != "" && !seen[typ]:
			out = appendField(out, typ, clean(is))
		}
		seen[typ] = true
	}
	add(len(reportFields))
	out = append(out, 0)
	return setFrameLen(out)
}

func appendField(dst []byte, typ byte, value string) []byte {
	dst = append(dst, typ)
	dst = append(dst, value...)
	return append(dst, 0)
}

// clean takes NUL bytes out of text that came from elsewhere: a field ends at the first.
func clean(s string) string { return strings.ReplaceAll(s, "\x00", " ") }
