package tour

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// givenUp is why a step cannot be done.
type givenUp struct {
	reason  string
	refused bool // the world outside said no; else nobody knows what it did
}

func (g *givenUp) Error() string { return g.reason }

// reserve does one step of the way forward.
func (s *session) reserve(ctx context.Context, m *message) (did string, err error) {
	open, err := s.intend(ctx, m)
	if err != nil {
		return "", fmt.Errorf("noting the intention: %w", err)
	}
	if !open {
		// Only for a service whose message was taken from it because its connection is gone, which
		// it does not know yet. It must not ask any more.
		return "dropped: the tour is no longer being booked", nil
	}
	reference, err := s.outside.book(ctx, Request{TourID: m.tourID, Step: m.step, Attempt: m.attempt, key: m.iid})
	switch {
	case errors.Is(err, errRefused):
		return "", &givenUp{reason: fmt.Sprintf("%s was refused", m.step), refused: true}
	case errors.Is(err, errTransient) && m.attempt >= s.cfg.MaxAttempts:
		return "", &givenUp{reason: fmt.Sprintf("%s failed %d times: %v", m.step, m.attempt, err)}
	case errors.Is(err, errTransient):
		return s.retryLater(ctx, m, err)
	case err != nil:
		return "", err
	}
	s.tell(Answered, m, "")

	if err := s.move(ctx, m, "update tour set details = details || hstore($2, $3) where tour_id = $1 and state = 'booking'",
		m.tourID, string(m.step), reference); err != nil {
		return "", err
	}
	if _, err := s.tx.Exec(ctx, "update reservation set state = 'booked', reference = $3 where tour_id = $1 and step = $2",
		m.tourID, string(m.step), reference); err != nil {
		return "", fmt.Errorf("noting the reservation: %w", err)
	}
	return "booked as " + reference, nil
}

// intend notes, for good, that the service is about to ask for a reservation, unless the tour is not
// being booked any more. The lock keeps a rollback from starting in between: once a tour is rolling
// back, all that was ever asked for is on record, and nothing new comes.
func (s *session) intend(ctx context.Context, m *message) (open bool, err error) {
	err = s.aside.QueryRow(ctx, `
		with t as materialized (select tour_id from tour where tour_id = $1 and state = 'booking' for share),
		noted as (
			insert into reservation (tour_id, step, key) select tour_id, $2, $3 from t
			on conflict (tour_id, step) do nothing
		)
		select exists (select from t)`, m.tourID, string(m.step), m.iid).Scan(&open)
	return open, err
}

// retryLater puts a message back that could not be done this time.
func (s *session) retryLater(ctx context.Context, m *message, why error) (did string, err error) {
	if err := m.putBack(ctx, s.tx, time.Duration(m.attempt)*s.cfg.RetryDelay); err != nil {
		return "", err
	}
	return fmt.Sprintf("attempt %d failed, again later: %v", m.attempt, why), nil
}

// finish is the end of the way forward: nothing can fail any more, so the way back is taken away.
func (s *session) finish(ctx context.Context, m *message) (did string, err error) {
	for _, iid := range m.take {
		taken, err := take(ctx, s.tx, iid)
		if err != nil {
			return "", err
		}
		if taken == nil {
			return "", fmt.Errorf("tour %d: %s of the way back is gone", m.tourID, iid)
		}
	}
	s.tell(Taken, m, "")
	err = s.move(ctx, m, "update tour set state = 'booked' where tour_id = $1 and state = 'booking'", m.tourID)
	return "the tour is booked", err
}

// move updates the row of the tour, which must be in the state that the statement names. The row is
// locked after the messages and before the reservations, as in intend.
func (s *session) move(ctx context.Context, m *message, sql string, args ...any) error {
	tag, err := s.tx.Exec(ctx, sql, args...)
	switch {
	case err != nil:
		return fmt.Errorf("changing tour %d: %w", m.tourID, err)
	case tag.RowsAffected() != 1:
		return fmt.Errorf("tour %d is in the wrong state", m.tourID)
	}
	return nil
}
