package main

import (
	"fmt"
	"io"
	"slices"
	"sync"
	"text/tabwriter"
	"time"

	"mbusproxy/examples/saga/tour"
)

// holdBack is how long a line is kept before it is printed, for lines about earlier events may come later.
const holdBack = 50 * time.Millisecond

// printer writes the log of the services, in the order of what happened, and the final tables.
type printer struct {
	mu    sync.Mutex // guards what follows
	out   io.Writer
	start time.Time
	held  []tour.Event
}

// event prints, a moment later, what a service has done.
func (p *printer) event(e tour.Event) {
	if e.Moment != tour.Committed && e.Moment != tour.Lost {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.held = append(p.held, e)
	time.AfterFunc(holdBack, func() { p.flush(time.Now().Add(-holdBack)) })
}

// flush prints what happened up to an instant.
func (p *printer) flush(upTo time.Time) {
	p.mu.Lock()
	defer p.mu.Unlock()
	slices.SortStableFunc(p.held, func(a, b tour.Event) int { return a.At.Compare(b.At) })
	for len(p.held) > 0 && !p.held[0].At.After(upTo) {
		e := p.held[0]
		p.held = p.held[1:]
		ms := e.At.Sub(p.start).Milliseconds()
		if e.Moment == tour.Lost {
			fmt.Fprintf(p.out, "%5d ms          %-20s connects again: %s\n", ms, e.Service, e.Text)
			continue
		}
		fmt.Fprintf(p.out, "%5d ms  tour %d  %-20s %-13s %s\n", ms, e.TourID, e.Service, e.Step, e.Text)
	}
}

// report prints the final table of a tour.
func (p *printer) report(r tour.Report) {
	p.mu.Lock()
	defer p.mu.Unlock()
	fmt.Fprintf(p.out, "\nTour %d is %s", r.TourID, r.State)
	if r.Reason != "" {
		fmt.Fprintf(p.out, ", because %s", r.Reason)
	}
	fmt.Fprintf(p.out, ".\n\n")
	w := tabwriter.NewWriter(p.out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "step\treservation\treference\toutside\tbooked\tcancelled")
	for _, l := range r.Lines {
		fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%d\t%d\n", l.Step, dash(l.Reservation), dash(l.Reference), dash(l.Outside), l.Booked, l.Cancelled)
	}
	_ = w.Flush() // terminal output
	fmt.Fprintf(p.out, "\nMessages left: %d\n", r.Left)
	for _, problem := range r.Problems() {
		fmt.Fprintf(p.out, "PROBLEM: %s\n", problem)
	}
}

func dash(s string) string {
	if s == "" {
		return "-"
	}
	return s
}
