package cli

import (
	"context"
	"fmt"
	"strconv"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgtype"

	"mbusproxy/internal/bulk"
)

// Dead says which dead messages are meant; what is empty selects nothing.
type Dead struct {
	Queue, Consumer, Selector string
	Since, Until              string // times as the server reads them
}

const (
	lookTime = 5 * time.Second // to count what is selected
	samples  = 5
)

// selection has the server read the times. Without Until it is what is dead by now.
func (s *Session) selection(ctx context.Context, d Dead) (bulk.Selection, error) {
	sel := bulk.Selection{Queue: d.Queue, Consumer: d.Consumer, Selector: d.Selector}
	var since, until *time.Time
	err := s.conn.QueryRow(ctx, `select $1::pg_catalog.text::pg_catalog.timestamptz, coalesce($2::pg_catalog.text::pg_catalog.timestamptz, pg_catalog.clock_timestamp())`, filled(d.Since), filled(d.Until)).Scan(&since, &until)
	if err != nil {
		return sel, told(err)
	}
	if since != nil {
		sel.Since = *since
	}
	if until != nil {
		sel.Until = *until
	}
	return sel, nil
}

// DeadList writes dead messages in the order in which they died, limit at most.
func (s *Session) DeadList(ctx context.Context, d Dead, limit int, out Out) error {
	var all []bulk.Message
	err := s.lookByCall(ctx, func(ctx context.Context, tx pgx.Tx) error {
		sel, err := s.selection(ctx, d)
		if err != nil {
			return err
		}
		var next *bulk.Place
		for len(all) < limit {
			var more []bulk.Message
			if more, next, err = bulk.List(ctx, tx, sel, next, limit-len(all), 0); err != nil {
				return err
			}
			if all = append(all, more...); next == nil {
				break
			}
		}
		return nil
	})
	if err != nil {
		return err
	}
	return out.write(messages(all, out.Format != Table))
}

// messages are dead messages as rows; their headers are left out where people read, for what
// matters of them is in columns of its own.
func messages(list []bulk.Message, headers bool) *Result {
	r := &Result{Columns: []Column{{"iid", text}, {"queue", text}, {"consumer", text}, {"died", moment}, {"attempt", number}, {"error", text}, {"expires", moment}}}
	if headers {
		r.Columns = append(r.Columns, Column{"headers", pairs})
	}
	r.Columns = append(r.Columns, Column{"properties", pairs}, Column{"data", pairs})
	for _, m := range list {
		row := []*string{&m.IID, filled(m.Queue), filled(m.Consumer), stamp(m.Died), count(m.Attempts), filled(m.Error), stamp(m.Expires)}
		if headers {
			row = append(row, hstoreText(m.Headers))
		}
		r.Rows = append(r.Rows, append(row, hstoreText(m.Properties), hstoreText(m.Data)))
	}
	return r
}

func filled(s string) *string {
	if s == "" {
		return nil
	}
	return &s
}

func count(n int) *string {
	if n == 0 {
		return nil
	}
	return filled(strconv.Itoa(n))
}

func stamp(t time.Time) *string {
	if t.IsZero() {
		return nil
	}
	return filled(t.Format("2006-01-02 15:04:05.999999-07"))
}

func hstoreText(h map[string]*string) *string {
	if h == nil {
		return nil
	}
	v, err := pgtype.Hstore(h).Value()
	if err != nil || v == nil {
		return nil
	}
	return filled(v.(string))
}

// DeadPreview is what an operation would deal with.
type DeadPreview struct {
	selection bulk.Selection
	bulk.Preview
}

// Preview counts what is meant, and looks at the first few.
func (s *Session) Preview(ctx context.Context, d Dead) (*DeadPreview, error) {
	p := &DeadPreview{}
	return p, s.lookByCall(ctx, func(ctx context.Context, tx pgx.Tx) (err error) {
		if p.selection, err = s.selection(ctx, d); err != nil {
			return err
		}
		p.Preview, err = bulk.Look(ctx, tx, p.selection, samples, 0, lookTime)
		return err
	})
}

// Amount is how many messages there are, in words.
func (p *DeadPreview) Amount() string {
	switch n := p.Count.Messages; {
	case !p.Count.Exact:
		return fmt.Sprintf("at least %d messages", n)
	case n == 1:
		return "1 message"
	default:
		return fmt.Sprintf("%d messages", n)
	}
}

// WriteSamples writes the first few messages.
func (p *DeadPreview) WriteSamples(out Out) error {
	if len(p.Samples) == 0 {
		return nil
	}
	return out.write(messages(p.Samples, out.Format != Table))
}

// DeadRun does something with the messages of a preview, in batches, and writes what became of
// them. The kind is redrive or purge; with a target they are moved there. Where ctx ends the
// operation is cancelled: what was done stays done, and can be undone.
func (s *Session) DeadRun(ctx context.Context, kind, target string, p *DeadPreview, bar *Progress, out Out) error {
	request := bulk.Request{Kind: bulk.Kind(kind), Selection: p.selection}
	if target != "" {
		request.Kind, request.TargetQueue = bulk.Move, target
	}
	var id int64
	err := s.act(ctx, func(ctx context.Context, tx pgx.Tx) (err error) {
		id, err = bulk.Begin(ctx, tx, request)
		return err
	})
	if err != nil {
		return err
	}
	return s.runOperation(ctx, id, bar, out)
}

// DeadUndo takes back what an operation has put elsewhere.
func (s *Session) DeadUndo(ctx context.Context, operation int64, bar *Progress, out Out) error {
	var id int64
	err := s.act(ctx, func(ctx context.Context, tx pgx.Tx) (err error) {
		id, err = bulk.BeginUndo(ctx, tx, operation)
		return err
	})
	if err != nil {
		return err
	}
	return s.runOperation(ctx, id, bar, out)
}

func (s *Session) runOperation(ctx context.Context, id int64, bar *Progress, out Out) error {
	before := int64(0)
	do := func(ctx context.Context, f func(context.Context, pgx.Tx) error) error {
		return transact(ctx, s.conn, false, f)
	}
	o, err := bulk.Run(ctx, do, id, bulk.Options{Progress: func(o bulk.Operation) {
		bar.Add(int(o.Done - before))
		before = o.Done
	}})
	bar.Done()
	if err != nil && ctx.Err() != nil {
		return s.cancelOperation(ctx, id, o)
	}
	if err != nil {
		return told(err)
	}
	return out.write(operation(o))
}

// cancelOperation ends an operation that a signal has interrupted, and says how far it came.
func (s *Session) cancelOperation(ctx context.Context, id int64, o bulk.Operation) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), connectTimeout)
	defer cancel()
	again, err := Connect(ctx, s.dsn, nil)
	if err == nil {
		defer again.Close()
		err = again.act(ctx, func(ctx context.Context, tx pgx.Tx) (err error) {
			if err = bulk.Cancel(ctx, tx, id); err == nil {
				o, err = bulk.Find(ctx, tx, id)
			}
			return err
		})
	}
	e := &Error{Message: fmt.Sprintf("interrupted: operation %d has dealt with %d messages", id, o.Done), Hint: "the same command goes on with the rest", Err: err}
	switch {
	case err != nil:
		e.Hint = "it could not be ended: " + err.Error()
	case o.Undoable:
		e.Hint += fmt.Sprintf("; `mbusproxy dead undo %d` takes back what was put elsewhere", id)
	}
	return e
}

// operation is how an operation stands, as a row.
func operation(o bulk.Operation) *Result {
	number64 := func(n int64) *string { return filled(strconv.FormatInt(n, 10)) }
	undoable := "f"
	if o.Undoable {
		undoable = "t"
	}
	return &Result{
		Columns: []Column{{"id", number}, {"kind", text}, {"state", text}, {"done", number}, {"refused", number}, {"held", number}, {"undoable", boolean}},
		Rows:    [][]*string{{number64(o.ID), filled(string(o.Kind)), filled(string(o.State)), number64(o.Done), number64(o.Refused), number64(o.Held), &undoable}},
	}
}
