package model

import (
	"fmt"
	"slices"
	"strings"

	"mbusproxy/integration/internal/harness"
)

// got is a message as a call yields it; see gotColumns.
type got struct{ iid, n, destination, delayed, expires, received string }

// gotColumns selects what got holds from a message m.
const gotColumns = "(m).iid, (m).data->'n', (m).headers->'destination', " +
	"case (m).delayed_until when (m).added then '" + whenAdded + "' else (m).delayed_until::text end, (m).expires, (m).received"

// whenAdded stands for the time when a message was added: who says nothing else has it due then.
const whenAdded = "added"

func parseGot(text string) (out []got) {
	if text == "" {
		return nil
	}
	for line := range strings.SplitSeq(text, "\n") {
		f := strings.Split(line, "|")
		out = append(out, got{f[0], f[1], f[2], f[3], f[4], f[5]})
	}
	return out
}

// is reports whether the message read is the copy's, which may tell its iid, too.
func (g got) is(s *modelSession, c *modelCopy, database string) error {
	if c.iid == "" && !strings.HasPrefix(g.iid, c.destined+"."+database+".") {
		return fmt.Errorf("a copy for queue %s has the iid %s", c.destined, g.iid)
	}
	want := got{g.iid, fmt.Sprint(c.n), c.to.queue, c.delayed.text(s), c.expires.text(s), "{}"}
	if c.to.queue == "dmq" && c.from != "" {
		want.destination = c.from
	}
	switch {
	case c.unsure:
		want.delayed = g.delayed
	case c.delayed == nil:
		want.delayed = whenAdded
	}
	if g != want {
		return fmt.Errorf("got %+v, want %+v", g, want)
	}
	return nil
}

// consumed takes what a consume gave over into the model.
func (m *model) consumed(s *modelSession, x *modelTx, from *modelConsumer, amount, selector int, rows []got, w window, database string) error {
	delivered, err := m.delivered(s, from, amount, selector, rows, w, database)
	for _, c := range delivered {
		m.removed(c, x, w)
	}
	return err
}

// delivered checks what a consume or a lease gave, and gives the copies.
func (m *model) delivered(s *modelSession, from *modelConsumer, amount, selector int, rows []got, w window, database string) (delivered []*modelCopy, err error) {
	var copies []*modelCopy
	known := map[*modelCopy]certainty{}
	reasons := ""
	for _, c := range m.copies {
		if c.to != from || !c.meets(selector) {
			continue
		}
		verdict, reason := m.deliverable(s, c, w)
		if known[c] = verdict; verdict == never {
			reasons += fmt.Sprintf("\n  n=%d %s: %s", c.n, c.iid, reason)
			continue
		}
		copies = append(copies, c)
	}
	if len(rows) > amount {
		return nil, fmt.Errorf("%d messages, %d wanted", len(rows), amount)
	}
	taken := map[*modelCopy]bool{}
	for _, row := range rows {
		var c *modelCopy
		for _, d := range copies {
			if !taken[d] && fmt.Sprint(d.n) == row.n && (d.iid == row.iid || d.iid == "" && c == nil) {
				c = d
			}
		}
		if c == nil {
			return nil, fmt.Errorf("message %s (n=%s) must not be delivered; known are:%s", row.iid, row.n, reasons)
		}
		if err := row.is(s, c, database); err != nil {
			return nil, err
		}
		c.iid = row.iid
		taken[c] = true
		for _, earlier := range delivered {
			if c.before(earlier) && !m.byDue {
				return nil, fmt.Errorf("%v comes after %v, but was deliverable before it", c, earlier)
			}
		}
		delivered = append(delivered, c)
	}
	for _, c := range copies {
		if taken[c] || known[c] != surely {
			continue
		}
		if len(rows) < amount {
			return nil, fmt.Errorf("%v was not delivered", c)
		}
		for _, d := range delivered {
			if c.before(d) {
				return nil, fmt.Errorf("%v was delivered before %v, which was deliverable first", d, c)
			}
		}
	}
	return delivered, nil
}

// takeWaits says whether removing the copies waits for another transaction.
func (m *model) takeWaits(s *modelSession, copies []*modelCopy, w window) certainty {
	waits := never
	for _, c := range copies {
		waits = max(waits, min(m.waits(s, c), c.unexpired(w)))
	}
	return waits
}

// first checks that a message read by its iid is the first of the copies, or none where there is
// none. Those of one post have one place; where one of them has been put back they differ, and any
// of them may be given.
func (m *model) first(s *modelSession, copies []*modelCopy, g got, w window, database string) error {
	var err error
	var certain *modelCopy // is there
	for _, c := range inOrder(copies) {
		alive := c.unexpired(w)
		if alive == never {
			continue
		}
		if certain != nil && c.place != certain.place {
			return err
		}
		if err = g.is(s, c, database); err == nil {
			return nil
		}
		if alive == surely {
			certain = c
		}
	}
	if certain != nil {
		return err
	}
	if g.iid != harness.Null {
		return fmt.Errorf("got %+v, which is not there (%w)", g, err)
	}
	return nil
}

// took is first for calls that remove the copies.
func (m *model) took(s *modelSession, x *modelTx, copies []*modelCopy, g got, w window, database string) error {
	if err := m.first(s, copies, g, w, database); err != nil {
		return err
	}
	for _, c := range copies {
		if alive := c.unexpired(w); alive != never {
			c.murky = alive == maybe
			m.removed(c, x, w)
		}
	}
	return nil
}

// inOrder sorts copies as calls do that yield one of several: by when they were posted.
func inOrder(copies []*modelCopy) []*modelCopy {
	return slices.SortedFunc(slices.Values(copies), func(a, b *modelCopy) int { return a.place - b.place })
}

// answered checks a boolean.
func answered(text string, known certainty) error {
	if known == surely && text != "t" || known == never && text != "f" {
		return fmt.Errorf("got %q", text)
	}
	return nil
}
