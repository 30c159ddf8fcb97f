package main

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"strconv"
	"strings"
	"time"

	"github.com/jackc/pgx/v5/pgproto3"

	"mbusproxy/bench/internal/rig"
)

// session is a connection that runs transactions one after another and looks only at what it must
// of the replies, so that it takes less of the processors than pgbench does.
type session struct {
	conn        net.Conn
	pid         int // of its server process
	transaction func() error

	in   []byte // what has been read and not looked at
	read []byte // the buffer behind in

	rows  int      // in the reply to the last request
	row   [][]byte // the last row's columns, valid until the next request
	count int64    // transactions of the last turn
	err   error    // what ended it
}

// connect opens the sessions of an arm.
func (t *turn) connect(ctx context.Context) ([]*session, error) {
	var out []*session
	for range t.clients {
		h, err := rig.Hijack(ctx, t.path.DSN())
		if err != nil {
			return out, errors.Join(fmt.Errorf("connecting through %s: %w", t.path.Name, err), hangUp(out))
		}
		s := &session{conn: h.Conn, pid: int(h.PID), read: make([]byte, 1<<14)}
		out = append(out, s)
		if s.transaction, err = t.say(s); err != nil {
			return out, errors.Join(err, hangUp(out))
		}
	}
	return out, nil
}

// hangUp ends sessions; what has ended already is no error.
func hangUp(sessions []*session) error {
	terminate, err := (&pgproto3.Terminate{}).Encode(nil)
	errs := []error{err}
	for _, s := range sessions {
		_, _ = s.conn.Write(terminate)
		if err := s.conn.Close(); !errors.Is(err, net.ErrClosed) {
			errs = append(errs, err)
		}
	}
	return errors.Join(errs...)
}

// talk runs transactions until the time has come.
func (s *session) talk(until time.Time) {
	s.count = 0
	s.err = s.conn.SetDeadline(until.Add(time.Minute))
	for s.err == nil && time.Now().Before(until) {
		s.err = s.transaction()
		s.count++
	}
}

// exchange sends messages that end with a Query or Sync, and reads up to ReadyForQuery.
func (s *session) exchange(messages []byte) error {
	if _, err := s.conn.Write(messages); err != nil {
		return err
	}
	s.rows, s.row = 0, s.row[:0]
	s.in = s.read[:0]
	var refused error
	for {
		kind, body, err := s.frame()
		if err != nil {
			return err
		}
		switch kind {
		case 'D':
			s.rows++
			s.row = columns(s.row[:0], body)
		case 'E':
			var e pgproto3.ErrorResponse
			if err := e.Decode(body); err != nil {
				return err
			}
			refused = errors.New(e.Message)
		case 'Z':
			return refused
		}
	}
}

// frame is the next message of the reply. Its body, and those before, are valid until the next request.
func (s *session) frame() (kind byte, body []byte, err error) {
	const header = 5
	for {
		if len(s.in) >= header {
			if n := 1 + int(binary.BigEndian.Uint32(s.in[1:header])); len(s.in) >= n {
				kind, body, s.in = s.in[0], s.in[header:n:n], s.in[n:]
				return kind, body, nil
			}
		}
		free := cap(s.in) - len(s.in)
		if free == 0 {
			s.in = append(make([]byte, 0, 2*len(s.in)+cap(s.read)), s.in...) // what has been given out stays as it is
			free = cap(s.in) - len(s.in)
		}
		n, err := s.conn.Read(s.in[len(s.in) : len(s.in)+free])
		if err != nil {
			return 0, nil, err
		}
		s.in = s.in[:len(s.in)+n]
	}
}

// columns are those of a DataRow; null is nil.
func columns(out [][]byte, body []byte) [][]byte {
	const size = 4
	for body = body[2:]; len(body) >= size; {
		n := int(int32(binary.BigEndian.Uint32(body)))
		body = body[size:]
		if n < 0 {
			out = append(out, nil)
			continue
		}
		out, body = append(out, body[:n]), body[n:]
	}
	return out
}

// request is a statement as pgbench sends it under a protocol: prepared ones under a name, once.
type request struct {
	s    *session
	mode string
	name string
	sql  string // has $1 and so on where parameters stand
	out  []byte
}

// newRequest prepares the statement where the protocol does.
func newRequest(s *session, mode, name, sql string) (*request, error) {
	q := &request{s: s, mode: mode, name: name, sql: sql}
	if mode != preparedMode {
		q.name = ""
		return q, nil
	}
	return q, q.send(&pgproto3.Parse{Name: name, Query: sql}, &pgproto3.Sync{})
}

// run sends the request and wants one row. In the simple protocol the parameters become part of the text as they are.
func (q *request) run(parameters ...string) error {
	if err := q.ask(parameters); err != nil {
		return err
	}
	if q.s.rows != 1 {
		return fmt.Errorf("%d rows for %s", q.s.rows, q.sql)
	}
	return nil
}

func (q *request) ask(parameters []string) error {
	if q.mode == simpleMode {
		sql := q.sql
		for i, p := range parameters {
			sql = strings.Replace(sql, "$"+strconv.Itoa(1+i), p, 1)
		}
		return q.send(&pgproto3.Query{String: sql})
	}
	bind := &pgproto3.Bind{PreparedStatement: q.name}
	for _, p := range parameters {
		bind.Parameters = append(bind.Parameters, []byte(p))
	}
	behind := []pgproto3.FrontendMessage{bind, &pgproto3.Describe{ObjectType: 'P'}, &pgproto3.Execute{}, &pgproto3.Sync{}}
	if q.mode == preparedMode {
		return q.send(behind...)
	}
	return q.send(append([]pgproto3.FrontendMessage{&pgproto3.Parse{Query: q.sql}}, behind...)...)
}

func (q *request) send(messages ...pgproto3.FrontendMessage) (err error) {
	q.out = q.out[:0]
	for _, m := range messages {
		if q.out, err = m.Encode(q.out); err != nil {
			return err
		}
	}
	return q.s.exchange(q.out)
}

// always says the same statement, which has no parameter.
func always(mode, sql string) conversation {
	return func(s *session) (func() error, error) {
		q, err := newRequest(s, mode, "again", sql)
		return func() error { return q.run() }, err
	}
}

// selects is what pgbench -S does.
func selects(mode string) conversation {
	return func(s *session) (func() error, error) {
		q, err := newRequest(s, mode, "select", "SELECT abalance FROM pgbench_accounts WHERE aid = $1;")
		return func() error { return q.run(strconv.Itoa(1 + rand.IntN(scale*100_000))) }, err
	}
}
