package cli

import (
	"context"
	"fmt"
	"slices"
	"strconv"

	"github.com/jackc/pgx/v5"

	"mbusproxy/engine/circles"
)

// Queues writes the view mbus4.queues, or, of one queue, its consumers.
func (s *Session) Queues(ctx context.Context, queue string, out Out) error {
	var r *Result
	err := s.look(ctx, func() (err error) {
		r, err = s.queues(ctx, queue)
		return err
	})
	if err != nil {
		return err
	}
	return out.write(r)
}

func (s *Session) queues(ctx context.Context, queue string) (r *Result, err error) {
	if queue == "" {
		r, err = s.query(ctx, `select queue, kind, consumers, ready, delayed, waiting, leased, held, dead, selector_errors, oldest_ready, paused, exact
from mbus4.queues order by ready desc, queue`)
	} else {
		r, err = s.query(ctx, `select queue, consumer, ready, delayed, waiting, leased, held, dead, selector_errors, oldest_ready, paused, exact, selector
from mbus4.consumers where queue operator(pg_catalog.=) pg_catalog.lower($1) order by consumer`, queue)
	}
	if err == nil && queue != "" && len(r.Rows) == 0 {
		err = s.mustExist(ctx, queue)
	}
	return r, err
}

// mustExist returns an error where there is no such queue.
func (s *Session) mustExist(ctx context.Context, queue string) error {
	r, err := s.query(ctx, "select 1 from mbus4.queues where queue operator(pg_catalog.=) pg_catalog.lower($1)", queue)
	if err == nil && len(r.Rows) == 0 {
		err = &Error{Message: `42704: there is no queue "` + queue + `"`, SQLState: "42704", Hint: "`mbusproxy queues` lists them"}
	}
	return err
}

// QueueNames are the names of all queues, for shells.
func (s *Session) QueueNames(ctx context.Context) ([]string, error) {
	var r *Result
	err := s.look(ctx, func() (err error) {
		r, err = s.query(ctx, "select queue from mbus4.queues order by queue")
		return err
	})
	if err != nil {
		return nil, err
	}
	var names []string
	for _, row := range r.Rows {
		if row[0] != nil {
			names = append(names, Visible(*row[0]))
		}
	}
	return names, nil
}

// Peek writes messages of a consumer, those in a state or all, limit at most. They stay where they are.
func (s *Session) Peek(ctx context.Context, queue, consumer, state string, limit int, out Out) error {
	var wanted *string
	if state != "" {
		wanted = &state
	}
	var r *Result
	err := s.look(ctx, func() (err error) {
		r, err = s.query(ctx, `select iid, state, since, until, detail, waits_for, attempt, pid, username, application, added, headers, properties, data
from mbus4.messages_of($1, $2, $3, $4)`, queue, consumer, wanted, limit)
		return err
	})
	if err != nil {
		return err
	}
	return out.write(r)
}

// PeekOne writes a message, or returns ErrNothing.
func (s *Session) PeekOne(ctx context.Context, iid string, out Out) error {
	var r *Result
	err := s.lookByCall(ctx, func(context.Context, pgx.Tx) (err error) {
		r, err = s.query(ctx, `select iid, added, delayed_until, expires, headers, properties, data, payload from mbus4.peek_json($1)`, iid)
		return err
	})
	if err != nil {
		return err
	}
	r.Rows = slices.DeleteFunc(r.Rows, func(row []*string) bool { return row[0] == nil }) // a row of nulls is none
	if err := out.writeOne(r); err != nil {
		return err
	}
	return r.orNothing()
}

// Why writes why a message was not delivered, a row for each consumer that is to get it still.
// Where nobody is, it returns ErrNothing.
func (s *Session) Why(ctx context.Context, iid string, out Out) error {
	var r *Result
	err := s.lookByCall(ctx, func(context.Context, pgx.Tx) (err error) {
		r, err = s.query(ctx, `select queue, consumer, state, until, detail, waits_for, pid, username, application from mbus4.why($1)`, iid)
		return err
	})
	if err != nil {
		return err
	}
	if len(r.Rows) > 0 || out.Format != Table {
		err = out.write(r)
	}
	if err != nil {
		return err
	}
	return r.orNothing()
}

// Circles writes the messages that wait for one another, each with a way by which it comes back to itself.
func (s *Session) Circles(ctx context.Context, out Out) error {
	r := NewResult([]string{"iid", "path"})
	err := s.look(ctx, func() error {
		if _, err := s.conn.Exec(ctx, circles.Settings); err != nil {
			return err
		}
		read, err := s.query(ctx, circles.Edges+" limit "+strconv.Itoa(mostEdges+1))
		if err != nil {
			return err
		}
		if len(read.Rows) > mostEdges {
			return &Error{Message: fmt.Sprintf("54000: messages wait for others more than %d times", mostEdges), SQLState: "54000", Hint: "mbus4.why(iid) says of one message what it waits for"}
		}
		edges := make([]circles.Edge, len(read.Rows))
		for i, row := range read.Rows {
			edges[i] = circles.Edge{Of: *row[0], For: *row[1]}
		}
		for _, c := range circles.Find(edges) {
			r.Append(c.IID, c.Way())
		}
		return nil
	})
	if err != nil {
		return err
	}
	return out.write(r)
}

// mostEdges is how many pairs of messages, of which one waits for the other, Circles holds in memory.
const mostEdges = 1_000_000

func (r *Result) orNothing() error {
	if len(r.Rows) == 0 {
		return ErrNothing
	}
	return nil
}
