package main

import (
	"fmt"
	"io"
	"sync"
	"text/tabwriter"
	"time"

	"mbusproxy/examples/saga/tour"
)

// printer writes the log of the services and the final tables.
type printer struct {
	mu    sync.Mutex // guards out
	out   io.Writer
	start time.Time
}

// event prints what services have done.
func (p *printer) event(e tour.Event) {
	p.mu.Lock()
	defer p.mu.Unlock()
	switch e.Moment {
	case tour.Committed:
		fmt.Fprintf(p.out, "%5d ms  tour %d  %-20s %-13s %s\n", time.Since(p.start).Milliseconds(), e.TourID, e.Service, e.Step, e.Text)
	case tour.Lost:
		fmt.Fprintf(p.out, "%5d ms          %-20s connects again: %s\n", time.Since(p.start).Milliseconds(), e.Service, e.Text)
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
