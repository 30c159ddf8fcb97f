package semaphore

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"mbusproxy/engine/calls"
	"mbusproxy/engine/refusal"
)

// DB is what Semaphores works over: a *pgxpool.Pool, a *pgx.Conn or a pgx.Tx satisfies it.
type DB interface {
	Exec(ctx context.Context, sql string, args ...any) (pgconn.CommandTag, error)
	Query(ctx context.Context, sql string, args ...any) (pgx.Rows, error)
	QueryRow(ctx context.Context, sql string, args ...any) pgx.Row
	Begin(ctx context.Context) (pgx.Tx, error)
}

// Semaphores are the task semaphores of one database, for programs that would rather not write SQL. It does
// what the calls mbus4.semaphore_… do: a semaphore lets through so many of the tasks that want to run, those
// with the greatest priorities first, and asks running ones to leave when better ones wait. See
// docs/semaphore.md.
//
// It works through mbusproxy as well as on a direct connection to a database that an mbusproxy, or an Engine
// in this program, serves: those grant the slots. Over a pgx.Tx everything is part of that transaction.
//
// What is wrong with a call comes as *refusal.Error: 42704 for a semaphore that does not exist, 22023 for a value
// out of bounds. It is as safe for concurrent use as what it works over.
type Semaphores struct {
	db    DB
	texts *calls.Texts
}

// New makes Semaphores over a pool, a connection or a transaction, which stays the caller's.
func New(db DB) *Semaphores { return &Semaphores{db: db, texts: calls.New()} }

// Semaphore is a semaphore's row.
type Semaphore struct {
	ID         int32
	Key        string
	Active     int32 // tasks that may hold a slot at once
	TryRelease int32 // how many of them, from the tail, may be asked to leave
}

// GetOrCreate gives the semaphore with that key, 1 to 1000 bytes of text. A new one has 1000 slots, and 900
// tasks from the tail may be asked to leave.
func (s *Semaphores) GetOrCreate(ctx context.Context, key string) (Semaphore, error) {
	var out Semaphore
	sql := s.texts.Statement("semaphore_get_or_create", "(mbus4_call.semaphore_get_or_create).*")
	err := s.db.QueryRow(ctx, sql, key).Scan(&out.ID, &out.Key, &out.Active, &out.TryRelease)
	return out, callError("getting semaphore", key, err)
}

// Update sets the limits of a semaphore: 0 <= tryRelease <= active. When there are too many running tasks
// then, nothing is granted before enough of them have left, and the last ones are asked to.
func (s *Semaphores) Update(ctx context.Context, key string, active, tryRelease int) error {
	return s.call(ctx, "updating semaphore", "semaphore_update", key, active, tryRelease)
}

// Enqueue lets a task wait for a slot. For a task that is there already it changes the priority, and keeps
// its slot and the order of its arrival.
func (s *Semaphores) Enqueue(ctx context.Context, key string, taskID int64, priority float64) error {
	return s.call(ctx, "enqueuing to semaphore", "semaphore_enqueue", key, taskID, priority)
}

// Release ends a task's waiting or gives its slot back. A task that is not there has left already, which is
// no error.
func (s *Semaphores) Release(ctx context.Context, key string, taskID int64) error {
	return s.call(ctx, "releasing from semaphore", "semaphore_release", key, taskID)
}

func (s *Semaphores) call(ctx context.Context, doing, function, key string, args ...any) error {
	_, err := s.db.Exec(ctx, s.texts.Statement(function, "1"), append([]any{key}, args...)...)
	return callError(doing, key, err)
}

// callError gives an error that the calls raise the form of a *refusal.Error. Over a proxy it has the final
// SQLSTATE already.
func callError(doing, key string, err error) error {
	if err == nil {
		return nil
	}
	var e *pgconn.PgError
	if errors.As(err, &e) {
		code, message := e.Code, e.Message
		if _, marked, ok := strings.Cut(message, "mbus4-error 0 "); ok && code == refusal.InvalidText {
			code, message, _ = strings.Cut(marked, " ")
			message = strings.TrimRight(message, `"»”'`)
		}
		switch code {
		case refusal.UndefinedObject:
			return &refusal.Error{Code: code, Message: message, Hint: "Create it with GetOrCreate.", Err: err}
		case refusal.NullValue, "22023": // invalid_parameter_value
			return &refusal.Error{Code: code, Message: message, Err: err}
		}
	}
	return fmt.Errorf("%s %q: %w", doing, key, err)
}
