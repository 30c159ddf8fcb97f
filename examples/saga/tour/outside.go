package tour

import (
	"context"
	"errors"
	"fmt"

	"github.com/jackc/pgx/v5"
)

// Mood is how a web service answers a request.
type Mood int

// The moods.
const (
	Fine    Mood = iota // it does what is asked
	Refuses             // no, and that is final
	Busy                // it does nothing; try again
	Silent              // it does what is asked, but the answer is lost
	Hangs               // it does what is asked, and an answer never comes
)

// Request is what a service asks of the world outside.
type Request struct {
	TourID  int64
	Step    Step
	Cancel  bool // to cancel, not to book
	Attempt int  // 1 the first time
	key     string
}

var (
	// errRefused is an answer: the request will never be met.
	errRefused = errors.New("refused")
	// errTransient is no answer: nobody knows what happened, asking again may help.
	errTransient = errors.New("no answer")
)

// outside stands for the web services. What it does is done, whatever becomes of the transaction of
// who asked. Its connection is in autocommit.
//
// Every request carries an idempotency key. The first answer to a key holds: whoever asks again gets
// it again. A key that is cancelled before it was used is void, so a request that comes late, from a
// service that was taken for dead, is refused.
type outside struct {
	conn *pgx.Conn
	mood func(Request) Mood
}

const bookSQL = `
with new as (
	insert into outside.booking (key, tour_id, step, state, reference)
	values ($1, $2, $3, $4, case when $4 = 'booked' then upper(left(md5($1), 6)) end)
	on conflict (key) do nothing
	returning key, state
)
insert into outside.ledger (key, what) select key, state from new where state = 'booked'`

// book gives the booking's reference, errRefused, or another error when it is not known what happened.
func (o *outside) book(ctx context.Context, r Request) (reference string, err error) {
	mood := o.mood(r)
	if mood == Busy {
		return "", fmt.Errorf("%w: the web service is busy", errTransient)
	}
	answer := Booked
	if mood == Refuses {
		answer = "refused"
	}
	if _, err := o.conn.Exec(ctx, bookSQL, r.key, r.TourID, string(r.Step), string(answer)); err != nil {
		return "", fmt.Errorf("booking: %w", err)
	}
	if err := o.lose(ctx, mood); err != nil {
		return "", err
	}
	var state string
	err = o.conn.QueryRow(ctx, "select state, coalesce(reference, '') from outside.booking where key = $1", r.key).Scan(&state, &reference)
	switch {
	case err != nil:
		return "", fmt.Errorf("booking: %w", err)
	case state != "booked":
		return "", errRefused
	}
	return reference, nil
}

const cancelSQL = `
with changed as (
	insert into outside.booking (key, tour_id, step, state) values ($1, $2, $3, 'void')
	on conflict (key) do update set state = 'cancelled' where booking.state = 'booked'
	returning key, state
)
insert into outside.ledger (key, what) select key, state from changed where state = 'cancelled'`

// cancel leaves nothing booked under the key, now and later.
func (o *outside) cancel(ctx context.Context, r Request) error {
	mood := o.mood(r)
	if mood == Busy {
		return fmt.Errorf("%w: the web service is busy", errTransient)
	}
	if _, err := o.conn.Exec(ctx, cancelSQL, r.key, r.TourID, string(r.Step)); err != nil {
		return fmt.Errorf("cancelling: %w", err)
	}
	return o.lose(ctx, mood)
}

// lose returns the error by which the answer to a request that was met does not arrive; nil in other moods.
func (o *outside) lose(ctx context.Context, mood Mood) error {
	switch mood {
	case Silent:
		return fmt.Errorf("%w within the time", errTransient)
	case Hangs:
		<-ctx.Done()
		return ctx.Err()
	}
	return nil
}
