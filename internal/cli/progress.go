package cli

import (
	"fmt"
	"io"
	"time"

	"github.com/schollz/progressbar/v3"
)

// quiet is how long something may take before it says how far it is.
const quiet = time.Second

// Progress says how far something is: with a bar on a terminal, with plain lines elsewhere, and
// only of what takes longer than a second.
type Progress struct {
	w        io.Writer
	terminal bool
	what     string
	total    int // -1: not known
	done     int
	began    time.Time
	said     time.Time
	bar      *progressbar.ProgressBar
}

// NewProgress begins to count; total is -1 where it is not known.
func NewProgress(w io.Writer, terminal bool, what string, total int) *Progress {
	now := time.Now()
	return &Progress{w: w, terminal: terminal, what: what, total: total, began: now, said: now}
}

// Add says that n more are done.
func (p *Progress) Add(n int) {
	p.done += n
	now := time.Now()
	if now.Sub(p.began) < quiet {
		return
	}
	if p.terminal {
		if p.bar == nil {
			p.bar = progressbar.NewOptions(p.total, progressbar.OptionSetWriter(p.w), progressbar.OptionSetDescription(p.what),
				progressbar.OptionClearOnFinish(), progressbar.OptionShowCount(), progressbar.OptionShowIts())
		}
		_ = p.bar.Set(p.done) // a bar that cannot be drawn is no reason to stop
		return
	}
	if now.Sub(p.said) < 5*quiet && p.said != p.began {
		return
	}
	p.said = now
	if p.total >= 0 {
		fmt.Fprintf(p.w, "%s: %d of %d\n", p.what, p.done, p.total)
	} else {
		fmt.Fprintf(p.w, "%s: %d\n", p.what, p.done)
	}
}

// Done takes the bar away.
func (p *Progress) Done() {
	if p.bar != nil {
		_ = p.bar.Finish() // nothing is lost with it
		p.bar = nil
	}
}
