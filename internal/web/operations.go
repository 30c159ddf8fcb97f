package web

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"
	"go.uber.org/zap"

	"mbusproxy/internal/bulk"
	"mbusproxy/internal/web/access"
)

func (p *Page) operationViews() []*view {
	return []*view{
		{path: Path + "operations", sheet: "operations.html", nav: "Operations", every: 2 * time.Second, load: loadOperations},
		{path: Path + "operation", sheet: "operation.html", under: Path + "operations", every: time.Second, load: loadOperation},
	}
}

// runs are the operations that log-ins run. The zero value is none.
type runs struct {
	mu     sync.Mutex
	done   sync.WaitGroup
	closed bool
	active map[run]struct{}
}

// run is an operation of a log-in's.
type run struct {
	login *access.Login
	id    int64
}

// start runs f unless the log-in runs the operation already.
func (r *runs) start(key run, f func()) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if _, is := r.active[key]; is || r.closed {
		return
	}
	if r.active == nil {
		r.active = map[run]struct{}{}
	}
	r.active[key] = struct{}{}
	r.done.Go(func() {
		defer func() {
			r.mu.Lock()
			defer r.mu.Unlock()
			delete(r.active, key)
		}()
		f()
	})
}

// wait returns when none is running, and none will be.
func (r *runs) wait() {
	r.mu.Lock()
	r.closed = true
	r.mu.Unlock()
	r.done.Wait()
}

const (
	objectInUse = "55006" // another session runs the operation
	// patienceWithOthers is for how many seconds a log-in tries to run what another session runs:
	// that of an earlier log-in takes a while to end at the server.
	patienceWithOthers = 30
)

// runOperation lets a log-in run an operation, a batch at a time on the connection that its other
// changes take as well. It ends with the log-in.
func (p *Page) runOperation(l *access.Login, id int64) {
	p.runs.start(run{l, id}, func() {
		ctx, cancel := context.WithCancel(p.ctx)
		defer cancel()
		go func() {
			select {
			case <-l.Ended():
				cancel()
			case <-ctx.Done():
			}
		}()
		do := func(ctx context.Context, f func(context.Context, pgx.Tx) error) error {
			for {
				err := l.Change(ctx, f)
				if !errors.Is(err, access.ErrBusy) || ctx.Err() != nil {
					return err
				}
			}
		}
		o, err := bulk.Run(ctx, do, id, bulk.Options{})
		for range patienceWithOthers {
			if bulk.SQLState(err) != objectInUse {
				break
			}
			select {
			case <-time.After(time.Second):
				o, err = bulk.Run(ctx, do, id, bulk.Options{})
			case <-ctx.Done():
			}
		}
		p.cfg.Log.Debug("page: an operation stops", zap.String("user", l.User), zap.Int64("operation", id), zap.String("state", string(o.State)), zap.Error(err))
	})
}

// goOn lets a log-in go on with the operations of its role that ended with an earlier one.
func (p *Page) goOn(l *access.Login) {
	p.runs.start(run{l, 0}, func() {
		var list []bulk.Operation
		err := l.View(p.ctx, func(ctx context.Context, tx pgx.Tx) error {
			may, err := p.rights(ctx, tx)
			if err != nil || !may.Installed {
				return err
			}
			b, err := bulkRightsOf(ctx, tx)
			if err != nil || !b.See {
				return err
			}
			list, err = bulk.Operations(ctx, tx, 0, 1000)
			return err
		})
		if err != nil {
			p.cfg.Log.Debug("page: looking for operations to go on with", zap.String("user", l.User), zap.Error(err))
			return
		}
		for _, o := range list {
			if o.Interrupted || o.State == bulk.Running {
				p.runOperation(l, o.ID)
			}
		}
	})
}

// operationRow is an operation as the pages show it.
type operationRow struct {
	ID, Undoes                              int64
	Kind, State                             Text
	Queue, Consumer, Selector               Text
	TargetQueue, TargetConsumer, Error      Text
	Since, Until                            time.Time
	Started, Changed, Ended                 time.Time
	Looked, Done, Refused, Held             int64
	CanPause, CanResume, CanCancel, CanUndo bool
	Interrupted                             bool
}

func showOperation(o bulk.Operation) operationRow {
	return operationRow{
		ID: o.ID, Undoes: o.Undoes, Kind: Text(o.Kind), State: Text(o.State),
		Queue: Text(o.Selection.Queue), Consumer: Text(o.Selection.Consumer), Selector: Text(o.Selection.Selector),
		TargetQueue: Text(o.TargetQueue), TargetConsumer: Text(o.TargetConsumer), Error: Text(o.Error),
		Since: o.Selection.Since, Until: o.Selection.Until, Started: o.Started, Changed: o.Changed, Ended: o.Ended,
		Looked: o.Looked, Done: o.Done, Refused: o.Refused, Held: o.Held,
		CanPause: o.State == bulk.Running, CanResume: o.State == bulk.Paused, CanCancel: o.Ended.IsZero(), CanUndo: o.Undoable && (o.Kind == bulk.Redrive || o.Kind == bulk.Move),
		Interrupted: o.Interrupted,
	}
}

// operationsSheet is what operations.html shows.
type operationsSheet struct {
	Operations []operationRow
	Next       string
	May        bulkRights
}

const mostOperations = 100

func loadOperations(c *call) (*shown, error) {
	sheet := &operationsSheet{}
	out := &shown{title: "Operations", body: sheet}
	var err error
	if sheet.May, err = bulkRightsOf(c.ctx, c.tx); err != nil || !sheet.May.See {
		return out, err
	}
	before, err := numberOf(c.query.Get("before"))
	if err != nil {
		return nil, err
	}
	list, err := bulk.Operations(c.ctx, c.tx, before, mostOperations+1)
	if err != nil {
		return nil, err
	}
	if len(list) > mostOperations {
		list = list[:mostOperations]
		sheet.Next = link("operations", "before", list[mostOperations-1].ID)
	}
	for _, o := range list {
		sheet.Operations = append(sheet.Operations, showOperation(o))
	}
	return out, nil
}

// operationSheet is what operation.html shows.
type operationSheet struct {
	Operation operationRow
	May       bulkRights
}

func loadOperation(c *call) (*shown, error) {
	sheet := &operationSheet{}
	var err error
	if sheet.May, err = bulkRightsOf(c.ctx, c.tx); err != nil {
		return nil, err
	}
	if !sheet.May.See {
		return nil, noOperation
	}
	id, err := numberOf(c.query.Get("id"))
	if err != nil {
		return nil, err
	}
	o, err := bulk.Find(c.ctx, c.tx, id)
	if errors.Is(err, pgx.ErrNoRows) {
		return nil, noOperation
	}
	if err != nil {
		return nil, err
	}
	sheet.Operation = showOperation(o)
	return &shown{title: Text(fmt.Sprintf("Operation %d", id)), body: sheet}, nil
}

var noOperation = &problem{404, "Operation not found", "Another role started it, or it ended long ago.", "The list of operations has those of your role."}

// numberOf reads the number of an operation or a row; "" is 0.
func numberOf(s string) (int64, error) {
	if s == "" {
		return 0, nil
	}
	n, err := strconv.ParseInt(s, 10, 64)
	if err != nil || n < 0 {
		return 0, &problem{400, "Page not found", "The address does not say which.", ""}
	}
	return n, nil
}

// steerOperation pauses, resumes, cancels or undoes an operation.
func steerOperation(s *submission) (to, told string, err error) {
	id, err := numberOf(s.value("id"))
	if err != nil {
		return "", "", err
	}
	what := s.value("do")
	err = s.login.Change(s.ctx, func(ctx context.Context, tx pgx.Tx) (err error) {
		switch what { // each leaves a row in the audit by itself
		case "pause":
			return bulk.Pause(ctx, tx, id)
		case "resume":
			return bulk.Resume(ctx, tx, id)
		case "cancel":
			return bulk.Cancel(ctx, tx, id)
		case "undo":
			id, err = bulk.BeginUndo(ctx, tx, id)
			return err
		}
		return &problem{400, "Invalid form", "It does not say what to do.", ""}
	})
	if err != nil {
		return "", "", err
	}
	if what == "resume" || what == "undo" {
		s.page.runOperation(s.login, id)
	}
	return link("operation", "id", id), map[string]string{
		"pause": "It pauses after the current batch.", "resume": "Resumed.", "cancel": "Cancelled. What it has already done stays.", "undo": "Started: messages that nobody has consumed since go back.",
	}[what], nil
}
