package tour

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/jackc/pgx/v5"
)

// startRollback takes the bung and all that is left of the way forward; with the commit the way back
// is open. m has been handed back before. Whoever has the bung is the only one to do this for the
// tour, and may then wait for services that are in the middle of a step, since these wait neither
// for the bung nor for the row of the tour while it is locked here. A step they finish meanwhile
// stands and is cancelled on the way back.
//
// The service at the end of the way forward takes the bung, too; it cannot be at work while the
// message of any step is there, and m is taken right after the bung.
func (s *session) startRollback(ctx context.Context, m *message, why *givenUp) (did string, err error) {
	bung, err := take(ctx, s.tx, m.bung)
	if err != nil {
		return "", err
	}
	if bung == nil {
		return "gave up, too: " + why.reason, nil
	}
	own, err := take(ctx, s.tx, m.iid)
	if err != nil {
		return "", err
	}
	if own == nil {
		// Another service got hold of the message and did the step. The bung goes back.
		return "gave up what another service did", s.beginAnew(ctx)
	}
	// From the end, so that nothing more is started that would be in vain.
	for _, iid := range slices.Backward(bung.take) {
		if iid == m.iid {
			continue
		}
		if _, err := take(ctx, s.tx, iid); err != nil {
			return "", err
		}
	}
	s.tell(Taken, m, "")
	if err = s.move(ctx, m, "update tour set state = 'rolling back', reason = $2 where tour_id = $1 and state = 'booking'", m.tourID, why.reason); err != nil {
		return "", err
	}
	if why.refused {
		if _, err := s.tx.Exec(ctx, "update reservation set state = 'refused' where tour_id = $1 and step = $2", m.tourID, string(m.step)); err != nil {
			return "", fmt.Errorf("noting the refusal: %w", err)
		}
	}
	return "rolling back, because " + why.reason, nil
}

// cancel undoes one step, if there is anything to undo: the service may have asked for it, whether
// or not its transaction survived.
func (s *session) cancel(ctx context.Context, m *message) (did string, err error) {
	var state State
	// Shared: the cancelling services of a tour do not wait for each other.
	err = s.tx.QueryRow(ctx, "select state from tour where tour_id = $1 for share", m.tourID).Scan(&state)
	switch {
	case err != nil:
		return "", fmt.Errorf("locking tour %d: %w", m.tourID, err)
	case state != RollingBack:
		return "", fmt.Errorf("tour %d is %s and cannot be cancelled", m.tourID, state)
	}
	var reservation, key string
	err = s.tx.QueryRow(ctx, "select state, key from reservation where tour_id = $1 and step = $2", m.tourID, string(m.step)).Scan(&reservation, &key)
	switch {
	case errors.Is(err, pgx.ErrNoRows):
		return "nothing to cancel, it was never asked for", nil
	case err != nil:
		return "", fmt.Errorf("looking for the reservation: %w", err)
	case reservation == "refused":
		return "nothing to cancel, it was refused", nil
	}
	err = s.outside.cancel(ctx, Request{TourID: m.tourID, Step: m.step, Cancel: true, Attempt: m.attempt, key: key})
	switch {
	case errors.Is(err, errTransient):
		return s.retryLater(ctx, m, err) // as often as it takes
	case err != nil:
		return "", err
	}
	s.tell(Answered, m, "")
	if _, err := s.tx.Exec(ctx, "update reservation set state = 'cancelled' where tour_id = $1 and step = $2", m.tourID, string(m.step)); err != nil {
		return "", fmt.Errorf("noting the cancellation: %w", err)
	}
	if reservation == "asked" {
		return "cancelled, though it is not known whether it was booked", nil
	}
	return "cancelled", nil
}

// finishRollback is the end of the way back.
func (s *session) finishRollback(ctx context.Context, m *message) (did string, err error) {
	err = s.move(ctx, m, "update tour set state = 'cancelled' where tour_id = $1 and state = 'rolling back'", m.tourID)
	return "the tour is cancelled", err
}
