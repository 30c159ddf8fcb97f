package tour

import (
	"context"
	"fmt"

	"github.com/jackc/pgx/v5"
)

// Report is what is on record about a tour, inside and outside.
type Report struct {
	TourID int64
	State  State
	Reason string // why it was rolled back
	Left   int    // messages of its saga that are still in a queue
	Lines  []Line // one for each step, in order
}

// Line is a step of a tour.
type Line struct {
	Step        Step
	Reservation string // on our record; empty: never asked for
	Reference   string
	Outside     string // on the record of the web service; empty: it never heard of it
	Booked      int    // how often it was really booked
	Cancelled   int    // how often it was really cancelled
}

const linesSQL = `
select s.step, coalesce(r.state, ''), coalesce(r.reference, ''),
       coalesce((select string_agg(b.state, ',') from outside.booking b where b.tour_id = $1 and b.step = s.step), ''),
       (select count(*) from outside.booking b join outside.ledger l using (key) where b.tour_id = $1 and b.step = s.step and l.what = 'booked'),
       (select count(*) from outside.booking b join outside.ledger l using (key) where b.tour_id = $1 and b.step = s.step and l.what = 'cancelled')
from unnest($2::text[]) with ordinality s (step, place)
left join reservation r on r.tour_id = $1 and r.step = s.step
order by s.place`

// Look gives the report on a tour.
func Look(ctx context.Context, conn *pgx.Conn, tourID int64) (Report, error) {
	r := Report{TourID: tourID}
	err := conn.QueryRow(ctx, `
		select t.state, coalesce(t.reason, ''),
		       (select count(*) from (select mbus4.is_msg_exists(iid) as here from unnest(avals(t.iids)) iid) m where m.here)
		from tour t where t.tour_id = $1`, tourID).Scan(&r.State, &r.Reason, &r.Left)
	if err != nil {
		return r, fmt.Errorf("looking at tour %d: %w", tourID, err)
	}
	rows, err := conn.Query(ctx, linesSQL, tourID, Steps())
	if err != nil {
		return r, fmt.Errorf("looking at tour %d: %w", tourID, err)
	}
	r.Lines, err = pgx.CollectRows(rows, pgx.RowToStructByPos[Line])
	if err != nil {
		return r, fmt.Errorf("looking at tour %d: %w", tourID, err)
	}
	return r, nil
}

// Over tells whether the tour has come to its end.
func (r Report) Over() bool { return r.State == Booked || r.State == Cancelled }

// Problems lists what a finished tour must not leave behind: it is all or nothing.
func (r Report) Problems() []string {
	var problems []string
	if r.Left > 0 {
		problems = append(problems, fmt.Sprintf("%d messages are left in queues", r.Left))
	}
	for _, l := range r.Lines {
		switch {
		case r.State == Booked && (l.Reservation != "booked" || l.Outside != "booked" || l.Booked != 1 || l.Cancelled != 0):
			problems = append(problems, fmt.Sprintf("%s is not booked exactly once: %+v", l.Step, l))
		case r.State == Cancelled && (l.Reservation == "booked" || l.Reservation == "asked" || l.Outside == "booked" || l.Booked > 1 || l.Cancelled != l.Booked):
			problems = append(problems, fmt.Sprintf("%s is not cancelled exactly once: %+v", l.Step, l))
		}
	}
	return problems
}

// Await waits until a tour is over. conn must not be in a transaction.
func Await(ctx context.Context, conn *pgx.Conn, tourID int64) (Report, error) {
	if _, err := conn.Exec(ctx, "listen "+channel); err != nil {
		return Report{}, fmt.Errorf("listening: %w", err)
	}
	for {
		r, err := Look(ctx, conn, tourID)
		if err != nil || r.Over() {
			return r, err
		}
		if _, err := conn.WaitForNotification(ctx); err != nil {
			return r, fmt.Errorf("waiting for the end of tour %d, which is %s: %w", tourID, r.State, err)
		}
	}
}
