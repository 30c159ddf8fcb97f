package model

import (
	"slices"
	"strings"
	"time"
)

// modelPost is what one post says.
type modelPost struct {
	queue     string
	message   modelMessage // as far as the poster knows it: with iid, if one is given
	headers   string       // "": null
	malformed bool         // the header consume_after is not an array
	given     bool         // message.iid was given
}

// postWaits says whether the post would wait for another transaction; hazy means that nobody knows
// what it does, because a message under its iid expires about now or is another's secret.
func (m *model) postWaits(s *modelSession, p *modelPost, now time.Time) (waits certainty, hazy bool) {
	if !p.given {
		return never, false
	}
	for _, c := range m.copies {
		if c.iid != p.message.iid || !slices.Contains(m.subscribers(s, p.queue, &p.message), c.to) {
			continue
		}
		switch {
		case c.murky || c.unexpired(window{now, now.Add(time.Second)}) != surely:
			// It may be there still, until it is swept.
			return never, true
		case !c.stored && c.made.foreign(s):
			return never, true
		case c.made.foreign(s) || c.gone.foreign(s) && c.made.counts(s):
			waits = surely
		case m.mayBeLocked(s, c):
			waits = max(waits, maybe)
		}
	}
	return waits, false
}

// postRefused gives the SQLSTATE of the post's error, or "".
func (m *model) postRefused(s *modelSession, p *modelPost) string {
	switch wanted := m.subscribers(s, p.queue, &p.message); {
	case p.malformed:
		return "22P02"
	case m.queue(s, p.queue) == nil && !strings.HasPrefix(p.queue, "temp."):
		return "42704"
	case len(wanted) > 0 && !slices.ContainsFunc(wanted, func(c *modelConsumer) bool { return m.holder(s, c, p) == nil }):
		return "23505"
	}
	return ""
}

// holder is the consumer's copy of an earlier message under the iid.
func (m *model) holder(s *modelSession, c *modelConsumer, p *modelPost) *modelCopy {
	for _, d := range m.copies {
		if p.given && d.to == c && d.iid == p.message.iid && d.visible(s) {
			return d
		}
	}
	return nil
}

// post does a post that succeeded.
func (m *model) post(s *modelSession, x *modelTx, p *modelPost, w window, iid string) {
	m.place++
	g := p.message
	g.iid, g.place, g.destined = iid, m.place, p.queue
	// All is decided before anything is added: a statement does not see what it posts.
	copies := m.copiesOf(s, x, &g, w, p.given, "", func(c *modelConsumer) bool {
		d := m.holder(s, c, p)
		if d != nil && !d.stored {
			d.locks = append(d.locks, x) // the post makes sure that it stays
		}
		return d == nil
	})
	var ways []string
	if !g.kept {
		ways = m.ways(s, []string{p.queue}, &g)
	}
	for _, queue := range ways {
		m.place++
		f := p.message
		f.iid, f.place, f.destined, f.copied = "", m.place, queue, true
		copies = append(copies, m.copiesOf(s, x, &f, w, false, iid, func(*modelConsumer) bool { return true })...)
	}
	m.copies = append(m.copies, copies...)
}

func (m *model) copiesOf(s *modelSession, x *modelTx, g *modelMessage, w window, given bool, original string, wanted func(*modelConsumer) bool) (out []*modelCopy) {
	avail := w
	if g.delayed != nil && g.destined != "dmq" {
		avail = window{later(w.from, g.delayed.at), later(w.to, g.delayed.at)}
	}
	farthest := time.Date(2200, 1, 1, 0, 0, 0, 0, time.UTC)
	stored := given || !avail.to.Before(farthest) || len(g.after) > 0
	if g.destined == "dmq" {
		g.after = nil
	}
	var parked bool
	var wakes time.Time
	present := m.present(s, g.after, w)
	if g.copied && slices.Contains(g.after, original) {
		present = max(present, maybe) // making the copy may see what the same statement posted
	}
	switch present {
	case surely:
		parked = true
	case maybe:
		parked, wakes = true, w.from
	}
	for _, c := range m.subscribers(s, g.destined, g) {
		if wanted(c) {
			out = append(out, &modelCopy{
				modelRow: modelRow{made: x}, modelMessage: g, to: c, avail: avail,
				parked: parked, wakes: wakes, stored: stored, posted: m.statement,
			})
		}
	}
	return out
}

// ways are the queues at the ends of all ways along the triggers.
func (m *model) ways(s *modelSession, path []string, g *modelMessage) (out []string) {
	for _, c := range m.consumers {
		if c.target == "" || c.queue != path[len(path)-1] || !c.visible(s) || slices.Contains(path, c.target) || !g.meets(c.selector) {
			continue
		}
		out = append(out, c.target)
		out = append(out, m.ways(s, append(slices.Clone(path), c.target), g)...)
	}
	return out
}

func later(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}
