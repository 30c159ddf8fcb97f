package cli

import (
	"bytes"
	"context"
	"encoding/json"
	"strconv"
	"strings"

	"github.com/jackc/pgx/v5/pgtype"
)

// Column is one of a result.
type Column struct {
	Name string
	kind kind
}

// kind is how a value is written in JSON.
type kind byte

const (
	text kind = iota
	number
	boolean
	document // JSON already
	moment   // a time
	pairs    // hstore
	texts    // an array of texts
	numbers  // an array of numbers
)

// Result is rows as the server wrote them; a nil value is null.
type Result struct {
	Columns []Column
	Rows    [][]*string
}

// query runs a statement with parameters that are texts, and reads all of its result.
func (s *Session) query(ctx context.Context, sql string, params ...any) (*Result, error) {
	values := make([][]byte, len(params))
	for i, p := range params {
		switch p := p.(type) {
		case string:
			values[i] = []byte(p)
		case *string:
			if p != nil {
				values[i] = []byte(*p)
			}
		case int:
			values[i] = strconv.AppendInt(nil, int64(p), 10)
		}
	}
	reader := s.conn.PgConn().ExecParams(ctx, sql, values, nil, nil, nil)
	r := &Result{}
	var oids []uint32
	for _, f := range reader.FieldDescriptions() {
		r.Columns = append(r.Columns, Column{Name: f.Name})
		oids = append(oids, f.DataTypeOID)
	}
	for reader.NextRow() {
		row := make([]*string, len(r.Columns))
		for i, v := range reader.Values() {
			if v != nil {
				value := string(v)
				row[i] = &value
			}
		}
		r.Rows = append(r.Rows, row)
	}
	if _, err := reader.Close(); err != nil {
		return nil, told(err)
	}
	for i, oid := range oids {
		k, err := s.kindOf(ctx, oid)
		if err != nil {
			return nil, err
		}
		r.Columns[i].kind = k
	}
	return r, nil
}

// kindOf says how values of a type are written in JSON.
func (s *Session) kindOf(ctx context.Context, oid uint32) (kind, error) {
	switch oid {
	case pgtype.BoolOID:
		return boolean, nil
	case pgtype.Int2OID, pgtype.Int4OID, pgtype.Int8OID, pgtype.Float4OID, pgtype.Float8OID, pgtype.NumericOID:
		return number, nil
	case pgtype.JSONOID, pgtype.JSONBOID:
		return document, nil
	case pgtype.TimestampOID, pgtype.TimestamptzOID:
		return moment, nil
	case pgtype.TextArrayOID, pgtype.VarcharArrayOID:
		return texts, nil
	case pgtype.Int4ArrayOID, pgtype.Int8ArrayOID:
		return numbers, nil
	}
	const own = 16384 // FirstNormalObjectId: below it are the server's types
	if oid < own {
		return text, nil
	}
	if s.types[oid] == "" {
		var name string
		if err := s.conn.QueryRow(ctx, "select typname::pg_catalog.text from pg_catalog.pg_type where oid operator(pg_catalog.=) $1", oid).Scan(&name); err != nil {
			return text, told(err)
		}
		s.types[oid] = name
	}
	if s.types[oid] == "hstore" {
		return pairs, nil
	}
	return text, nil
}

// asJSON writes a value of a column.
func (c Column) asJSON(v *string) json.RawMessage {
	if v == nil {
		return json.RawMessage("null")
	}
	switch c.kind {
	case boolean:
		return json.RawMessage(strconv.FormatBool(*v == "t"))
	case number, document:
		if json.Valid([]byte(*v)) { // NaN is none
			return json.RawMessage(*v)
		}
	case moment:
		return quoted(isoTime(*v))
	case pairs:
		var h pgtype.Hstore
		if h.Scan(*v) == nil {
			return encoded(h)
		}
	case texts:
		var all []*string
		if pgtype.NewMap().Scan(pgtype.TextArrayOID, pgtype.TextFormatCode, []byte(*v), &all) == nil {
			return encoded(all)
		}
	case numbers:
		if list := "[" + strings.ReplaceAll(strings.Trim(*v, "{}"), "NULL", "null") + "]"; json.Valid([]byte(list)) {
			return json.RawMessage(list)
		}
	}
	return quoted(*v)
}

// isoTime writes a time of the server as RFC 3339 has it, where that can say it.
func isoTime(v string) string {
	if len(v) < len("2006-01-02 15:04:05") || v[4] != '-' || v[10] != ' ' || strings.HasSuffix(v, "BC") {
		return v
	}
	v = v[:10] + "T" + v[11:]
	if i := strings.LastIndexAny(v, "+-"); i == len(v)-len("+00") {
		v += ":00"
	}
	return v
}

func quoted(s string) json.RawMessage { return encoded(s) }

// encoded is JSON without HTML's escapes.
func encoded(v any) json.RawMessage {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		panic("encoding texts: " + err.Error()) // of texts, maps and slices of them
	}
	return bytes.TrimSpace(b.Bytes())
}
