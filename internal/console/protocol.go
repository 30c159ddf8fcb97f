package console

import (
	"context"
	"errors"
	"slices"

	"github.com/jackc/pgx/v5/pgproto3"
)

const (
	textOID     = 25
	mostFormats = 64 // of a result's columns
)

// handle answers one message. An error ends the session.
func (s *session) handle(ctx context.Context, m pgproto3.FrontendMessage) error {
	switch m := m.(type) {
	case *pgproto3.Query:
		s.query(ctx, m.String)
		s.ready()
		s.flush()
	case *pgproto3.Sync:
		s.ready()
		s.flush()
	case *pgproto3.Flush:
		s.flush()
	case *pgproto3.Parse:
		if len(s.statement) >= mostPrepared {
			return s.skip(fail("53400", "Deallocate some.", "there are %d prepared statements", mostPrepared))
		}
		if len(m.ParameterOIDs) > 0 {
			return s.skip(fail("0A000", "Write the values into the command.", "commands of the console have no parameters"))
		}
		s.statement[m.Name] = m.Query
		s.send(&pgproto3.ParseComplete{})
	case *pgproto3.Bind:
		text, ok := s.statement[m.PreparedStatement]
		switch {
		case !ok:
			return s.skip(fail("26000", "", "prepared statement %q does not exist", m.PreparedStatement))
		case len(m.Parameters) > 0:
			return s.skip(fail("08P01", "", "commands of the console have no parameters"))
		}
		if len(m.ResultFormatCodes) > mostFormats {
			return s.skip(fail("08P01", "", "there are %d formats, and no result has so many columns", len(m.ResultFormatCodes)))
		}
		if len(s.portal) >= mostPrepared {
			clear(s.portal)
		}
		s.portal[m.DestinationPortal] = portal{text, slices.Clone(m.ResultFormatCodes)}
		s.send(&pgproto3.BindComplete{})
	case *pgproto3.Describe:
		bound, ok := s.portal[m.Name]
		if m.ObjectType == 'S' {
			bound.formats = nil
			bound.text, ok = s.statement[m.Name]
		}
		if !ok {
			return s.skip(fail("26000", "", "there is no %q", m.Name))
		}
		if m.ObjectType == 'S' {
			s.send(&pgproto3.ParameterDescription{})
		}
		columns, err := s.describe(ctx, bound.text)
		if err != nil {
			return s.skip(err)
		}
		if len(columns) == 0 {
			s.send(&pgproto3.NoData{})
			break
		}
		s.send(rowDescription(columns, bound.formats))
	case *pgproto3.Execute:
		bound, ok := s.portal[m.Portal]
		if !ok {
			return s.skip(fail("34000", "", "portal %q does not exist", m.Portal))
		}
		t, err := s.run(ctx, bound.text)
		if err != nil {
			return s.skip(err)
		}
		if t == nil {
			s.send(&pgproto3.EmptyQueryResponse{})
			break
		}
		s.rows(t)
	case *pgproto3.Close:
		if m.ObjectType == 'S' {
			delete(s.statement, m.Name)
		} else {
			delete(s.portal, m.Name)
		}
		s.send(&pgproto3.CloseComplete{})
	default:
		return s.skip(fail("08P01", "", "the console does not know this message"))
	}
	return nil
}

// query answers a Query.
func (s *session) query(ctx context.Context, text string) {
	t, err := s.run(ctx, text)
	switch {
	case err != nil:
		s.refuse(err)
	case t == nil:
		s.send(&pgproto3.EmptyQueryResponse{})
	default:
		if len(t.columns) > 0 {
			s.send(rowDescription(t.columns, nil))
		}
		s.rows(t)
	}
}

func (s *session) rows(t *table) {
	for _, row := range t.rows {
		values := make([][]byte, len(row))
		for i, v := range row {
			if v != nil {
				values[i] = []byte(*v)
			}
		}
		s.send(&pgproto3.DataRow{Values: values})
	}
	tag := t.tag
	if tag == "" {
		tag = "SHOW"
	}
	s.send(&pgproto3.CommandComplete{CommandTag: []byte(tag)})
}

// rowDescription describes columns of texts, which are the same in either format.
func rowDescription(columns []string, formats []int16) *pgproto3.RowDescription {
	fields := make([]pgproto3.FieldDescription, len(columns))
	for i, name := range columns {
		fields[i] = pgproto3.FieldDescription{Name: []byte(name), DataTypeOID: textOID, DataTypeSize: -1, TypeModifier: -1}
		switch {
		case len(formats) == 1:
			fields[i].Format = formats[0]
		case i < len(formats):
			fields[i].Format = formats[i]
		}
	}
	return &pgproto3.RowDescription{Fields: fields}
}

func (s *session) ready() { s.send(&pgproto3.ReadyForQuery{TxStatus: 'I'}) }

func (s *session) refuse(err error) {
	var f *failure
	if !errors.As(err, &f) {
		f = fail("08006", "", "%v", err)
	}
	s.send(&pgproto3.ErrorResponse{Severity: "ERROR", SeverityUnlocalized: "ERROR", Code: f.code, Message: f.message, Hint: f.hint})
}

// skip refuses a message of the extended protocol and reads on to the next Sync.
func (s *session) skip(err error) error {
	s.refuse(err)
	for {
		m, err := s.client.Receive()
		if err != nil {
			return err
		}
		if _, is := m.(*pgproto3.Sync); is {
			s.ready()
			s.flush()
			return nil
		}
	}
}
