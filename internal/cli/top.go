package cli

import (
	"bytes"
	"context"
	"fmt"
	"strconv"
	"strings"
	"time"
)

// snapshot is what the table shows of one moment.
type snapshot struct {
	at                      time.Time // by the clock here
	rates, sessions, queues *Result
	waits                   *Result // nil: not known
}

// snap asks for a snapshot; the proxy's console has that name.
func (s *Session) snap(ctx context.Context, console string) (*snapshot, error) {
	ctx, cancel := context.WithTimeout(ctx, connectTimeout)
	defer cancel()
	shot := &snapshot{at: time.Now()}
	if err := s.look(ctx, func() error { return s.fill(ctx, shot) }); err != nil {
		return nil, err
	}
	shot.waits = s.waits(ctx, console, shot.sessions.cell(0, "database"))
	return shot, nil
}

// fill asks for what is in the database.
func (s *Session) fill(ctx context.Context, shot *snapshot) error {
	for _, part := range []struct {
		into **Result
		sql  string
	}{
		{&shot.queues, `select queue, ready, delayed, waiting, leased, held, dead,
  (case when pg_catalog.isfinite(oldest_ready) then least(extract(epoch from pg_catalog.clock_timestamp() operator(pg_catalog.-) oldest_ready), 1e12) end)::pg_catalog.int8 as oldest_seconds, paused, exact
from mbus4.queues order by ready desc, queue`},
		{&shot.rates, `select over, posted_per_second, removed_per_second from mbus4.rates order by over`},
		{&shot.sessions, `select pg_catalog.current_database() as database, pg_catalog.count(*) as sessions, pg_catalog.count(*) filter (where state operator(pg_catalog.=) 'active') as active,
  pg_catalog.count(*) filter (where state operator(pg_catalog.~) '^idle in transaction') as in_transaction
from pg_catalog.pg_stat_activity where datname operator(pg_catalog.=) pg_catalog.current_database() and backend_type operator(pg_catalog.=) 'client backend'`},
	} {
		r, err := s.query(ctx, part.sql)
		if err != nil {
			return err
		}
		*part.into = r
	}
	return nil
}

// TopOnce writes one snapshot: lines, or a document of four arrays, of which that of the calls that
// wait is null where they are not known.
func (s *Session) TopOnce(ctx context.Context, console string, out Out) error {
	shot, err := s.snap(ctx, console)
	if err != nil {
		return err
	}
	var b bytes.Buffer
	if out.Format == JSON {
		for i, part := range []struct {
			name string
			r    *Result
		}{{"queues", shot.queues}, {"rates", shot.rates}, {"sessions", shot.sessions}, {"waiting_calls", shot.waits}} {
			b.WriteString([]string{`{"`, `, "`}[min(i, 1)] + part.name + `": `)
			if part.r == nil {
				b.WriteString("null")
				continue
			}
			part.r.toJSON(&b)
			b.Truncate(b.Len() - 1) // its end of line
		}
		b.WriteString("}\n")
	} else {
		if out.Format == CSV {
			return out.write(shot.queues)
		}
		for _, line := range frame(shot, nil, 0, 0) {
			b.WriteString(line + "\n")
		}
	}
	_, err = out.W.Write(b.Bytes())
	return err
}

// cell is a value of a row as a text, "" where it is null.
func (r *Result) cell(row int, name string) string {
	for i, c := range r.Columns {
		if c.Name == name && row < len(r.Rows) && r.Rows[row][i] != nil {
			return *r.Rows[row][i]
		}
	}
	return ""
}

// frame lays a snapshot out in lines of at most width columns, at most height of them; 0 means as
// many as there are. Where there was a snapshot before, it says how fast the queues grow.
func frame(now, before *snapshot, width, height int) []string {
	var lines []string
	add := func(format string, args ...any) { lines = append(lines, cut(fmt.Sprintf(format, args...), width)) }
	add("mbusproxy top   database %s   %s", Visible(now.sessions.cell(0, "database")), now.at.Format("15:04:05"))
	add("sessions %s, active %s, idle in transaction %s", now.sessions.cell(0, "sessions"), now.sessions.cell(0, "active"), now.sessions.cell(0, "in_transaction"))
	var posted, removed, over []string
	for i := range now.rates.Rows {
		over = append(over, minutes(now.rates.cell(i, "over")))
		posted = append(posted, perSecond(now.rates.cell(i, "posted_per_second")))
		removed = append(removed, perSecond(now.rates.cell(i, "removed_per_second")))
	}
	add("posted %s /s   removed %s /s   over %s min", strings.Join(posted, " "), strings.Join(removed, " "), strings.Join(over, " "))
	add("")
	names := 32 // columns, as many as a name can have; what the others leave of width where there are fewer
	if width > 0 {
		names = min(names, max(width-63, 17))
	}
	most := 0 // lines for the calls that wait
	if height > 0 {
		most = max(height/3, 3)
	}
	for _, line := range waitLines(now.waits, names, most) {
		add("%s", line)
	}
	add("%-*s %8s %8s %7s %7s %6s %5s %5s %s", names, "QUEUE", "READY", "+-/S", "DELAYED", "WAITING", "LEASED", "HELD", "DEAD", "OLDEST")
	old := map[string]int{}
	if before != nil {
		for i := range before.queues.Rows {
			old[before.queues.cell(i, "queue")] = i
		}
	}
	for i := range now.queues.Rows {
		if height > 0 && len(lines) == height-1 && i < len(now.queues.Rows)-1 {
			add("… and %d more", len(now.queues.Rows)-i)
			break
		}
		name := now.queues.cell(i, "queue")
		change := ""
		if was, ok := old[name]; ok {
			change = growth(now.queues.cell(i, "ready"), before.queues.cell(was, "ready"), now.at.Sub(before.at))
		}
		ready := now.queues.cell(i, "ready")
		if now.queues.cell(i, "exact") == "f" {
			ready = "~" + ready
		}
		oldest := age(now.queues.cell(i, "oldest_seconds"))
		if now.queues.cell(i, "paused") == "t" {
			oldest = strings.TrimSpace(oldest + " paused")
		}
		add("%s %8s %8s %7s %7s %6s %5s %5s %s", padded(cut(Visible(name), names), names), ready, change, now.queues.cell(i, "delayed"), now.queues.cell(i, "waiting"),
			now.queues.cell(i, "leased"), now.queues.cell(i, "held"), now.queues.cell(i, "dead"), oldest)
	}
	return lines
}

// minutes are those of an interval such as 00:05:00.
func minutes(interval string) string {
	if parts := strings.Split(interval, ":"); len(parts) == 3 {
		if m := strings.TrimPrefix(parts[1], "0"); m != "" {
			return m
		}
	}
	return Visible(interval)
}

func perSecond(v string) string {
	f, err := strconv.ParseFloat(v, 64)
	if err != nil {
		return "-"
	}
	return strconv.FormatFloat(f, 'f', 1, 64)
}

// growth is by how much a number has grown in each second.
func growth(now, before string, in time.Duration) string {
	n, err1 := strconv.ParseInt(now, 10, 64)
	b, err2 := strconv.ParseInt(before, 10, 64)
	if err1 != nil || err2 != nil || in <= 0 || n == b {
		return ""
	}
	return strconv.FormatFloat(float64(n-b)/in.Seconds(), 'f', 1, 64)
}

// age is a time in seconds, as people say it.
func age(seconds string) string {
	n, err := strconv.ParseInt(seconds, 10, 64)
	switch {
	case err != nil:
		return ""
	case n < 120:
		return fmt.Sprintf("%ds", max(n, 0))
	case n < 2*3600:
		return fmt.Sprintf("%dm", n/60)
	case n < 2*86400:
		return fmt.Sprintf("%dh", n/3600)
	}
	return fmt.Sprintf("%dd", n/86400)
}
