package tour

// Step is one reservation of a tour.
type Step string

// The steps of a tour. The two tickets may be booked at the same time, and so may the transfers.
const (
	Room         Step = "room"
	TicketTo     Step = "ticket-to"
	TicketFrom   Step = "ticket-from"
	TransferTo   Step = "transfer-to"
	TransferFrom Step = "transfer-from"
)

// Steps lists all steps, each behind those it comes after.
func Steps() []Step {
	var steps []Step
	for _, p := range plan() {
		steps = append(steps, p.step)
	}
	return steps
}

// stage is a step with its place in the saga.
type stage struct {
	step   Step
	after  Step   // what must have been reserved before; empty for the first
	queue  string // of the message that reserves
	cancel string // queue of the message that cancels
}

// plan is the saga in order. Both tickets come from one queue, which two services share.
func plan() []stage {
	return []stage{
		{Room, "", "room_reservations", "cancel_room_reservations"},
		{TicketTo, Room, "book_tickets", "cancel_ticket_booking_to"},
		{TicketFrom, Room, "book_tickets", "cancel_ticket_booking_from"},
		{TransferTo, TicketTo, "transfer_to", "cancel_transfer_to"},
		{TransferFrom, TicketFrom, "transfer_from", "cancel_transfer_from"},
	}
}

const (
	bungQueue      = "bungs" // nobody consumes from it, its messages are only ever taken
	endQueue       = "end_of_tour_reservation"
	cancelledQueue = "cancel_completed"
)

// State is where a tour is.
type State string

// A tour begins as Booking and ends as Booked, or as Cancelled by way of RollingBack. The tour is
// RollingBack exactly from the commit that removes the bung together with all that is left of the way
// forward.
const (
	Booking     State = "booking"
	Booked      State = "booked"
	RollingBack State = "rolling back"
	Cancelled   State = "cancelled"
)
