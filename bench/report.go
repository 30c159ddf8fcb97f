package main

import (
	"fmt"
	"slices"
	"strings"
	"time"
)

// report collects what was measured.
type report struct {
	opt      options
	machine  []property
	began    time.Time
	took     time.Duration
	cells    []*result
	snapshot *snapshotResult  // nil: not run
	idle     *idleResult      // nil: not run
	slots    *semaphoreResult // nil: not run
}

// valid tells whether every cell that was run gave a figure.
func (r *report) valid() bool {
	for _, c := range r.cells {
		if c.err != nil {
			return false
		}
	}
	return (r.snapshot == nil || r.snapshot.err == nil) && (r.idle == nil || r.idle.err == nil) && (r.slots == nil || r.slots.err == nil)
}

const preamble = `# Benchmark

Written by ` + "`make bench`" + `; do not edit. The arms of a line ran in turns within one run on one machine,
which Postgres, pgbench and whatever stands between them share. Throughput is in transactions a
second, the median of the rounds; a ratio is the median of the rounds' ratios, with the lowest and
the highest behind it.

`

func (r *report) markdown() string {
	var b strings.Builder
	b.WriteString(preamble)
	rows := [][]string{{"Machine", ""}}
	for _, p := range r.machine {
		rows = append(rows, []string{p.name, p.value})
	}
	rows = append(rows,
		[]string{"Date", r.began.UTC().Format("2006-01-02 15:04 UTC") + ", took " + r.took.Round(time.Second).String()},
		[]string{"Command", "`" + r.opt.command() + "`"})
	table(&b, 2, rows)

	b.WriteString("## Targets\n\n")
	rows = [][]string{{"What", "Target", "Figure", "Reached?"}}
	for _, t := range r.targets() {
		rows = append(rows, []string{t.what, t.wanted, t.figure, t.state})
	}
	table(&b, 4, rows)

	r.passTable(&b)
	r.queueTable(&b, "post", "Post", "The hand-written statement inserts into\n"+
		"`q(id bigserial primary key, added timestamptz default now(), data hstore)` and gives\n"+
		"the id back; `mbus4.post` makes a row for each consumer, findable by its iid, and gives the iid back.\n"+
		"The value is another one in each call, so under the simple protocol every text is new.")
	r.queueTable(&b, "consume", "Consume", "The hand-written statement deletes from the same `q` the rows that\n"+
		"`select … from q order by id limit n for update skip locked` finds, in the form that a trial before\n"+
		"the cell found fastest (below). The tables are filled and vacuumed before each run.")
	r.dynTable(&b)
	r.snapshotTable(&b)
	r.idleTable(&b)
	r.semaphoreTable(&b)
	return strings.TrimSpace(b.String()) + "\n"
}

func (r *report) passTable(b *strings.Builder) {
	rows := [][]string{{"Protocol", "Clients", "direct", "pgbouncer", "proxy", "proxy / pgbouncer", "proxy / direct", "CPU µs, pgbouncer", "CPU µs, proxy"}}
	for _, c := range r.group("select") {
		row := []string{c.part(1), c.part(2)}
		if c.err != nil {
			rows = append(rows, append(row, "**"+c.err.Error()+"**"))
			continue
		}
		rows = append(rows, append(row,
			fmt.Sprintf("%.0f", c.tps("direct")), fmt.Sprintf("%.0f", c.tps("pgbouncer")), fmt.Sprintf("%.0f", c.tps("proxy")),
			spread(c.ratios("proxy", "pgbouncer")), spread(c.ratios("proxy", "direct")),
			fmt.Sprintf("%.1f", c.cpu("pgbouncer")), fmt.Sprintf("%.1f", c.cpu("proxy"))))
	}
	if len(rows) == 1 {
		return
	}
	fmt.Fprintf(b, "## Pass-through\n\n`pgbench -S`, scale %d, through pgbouncer in session mode and through the proxy. CPU is that of the\nprocess in the middle, in microseconds per transaction.\n\n", scale)
	table(b, 2, rows)
}

func (r *report) queueTable(b *strings.Builder, group, title, text string) {
	rows := [][]string{{"At a time", "Protocol", "Clients", handName, "proxy", "proxy, messages", "proxy / " + handName, "CPU µs, proxy"}}
	var notes []string
	for _, c := range r.group(group) {
		row := []string{c.part(1), c.part(2), c.part(3)}
		if c.note != "" {
			notes = append(notes, fmt.Sprintf("- %s: %s", c.name, c.note))
		}
		if c.err != nil {
			rows = append(rows, append(row, "**"+c.err.Error()+"**"))
			continue
		}
		batch := float64(c.samples["proxy"][0].batches)
		rows = append(rows, append(row,
			fmt.Sprintf("%.0f", c.tps(handName)), fmt.Sprintf("%.0f", c.tps("proxy")), fmt.Sprintf("%.0f", batch*c.tps("proxy")),
			spread(c.ratios("proxy", handName)), fmt.Sprintf("%.1f", c.cpu("proxy"))))
	}
	if len(rows) == 1 {
		return
	}
	fmt.Fprintf(b, "## %s\n\n%s\n\n", title, text)
	table(b, 3, rows)
	if notes != nil {
		fmt.Fprintf(b, "Hand-written forms, with the transactions a second of the trial:\n\n%s\n\n", strings.Join(notes, "\n"))
	}
}

func (r *report) snapshotTable(b *strings.Builder) {
	s := r.snapshot
	if s == nil {
		return
	}
	fmt.Fprintf(b, "## Behind an old snapshot\n\nConsume one at a time, prepared, %d clients, with %d dead rows before the first message and a\n"+
		"transaction open that keeps them from being vacuumed; in thirds of %d seconds.\n\n", snapshotClients, deadRows, snapshotParts*r.opt.seconds)
	if s.err != nil {
		fmt.Fprintf(b, "**%v**\n\n", s.err)
		return
	}
	rows := [][]string{{"Time", "proxy", "proxy / proxy on a clean table", handName, handName + " / " + handName + " on a clean table"}}
	for part := range snapshotParts {
		rows = append(rows, []string{
			fmt.Sprintf("%d to %d s", part*r.opt.seconds, (part+1)*r.opt.seconds),
			fmt.Sprintf("%.0f", median(s.held[partKey("proxy", part)])), spread(s.ratio[partKey("proxy", part)]),
			fmt.Sprintf("%.0f", median(s.held[partKey(handName, part)])), spread(s.ratio[partKey(handName, part)]),
		})
	}
	table(b, 1, rows)
	fmt.Fprintf(b, "On a clean table: %.0f through the proxy.\n\n", median(s.clean))
}

func (r *report) idleTable(b *strings.Builder) {
	i := r.idle
	if i == nil {
		return
	}
	fmt.Fprintf(b, "## Idle sessions\n\n")
	if i.err != nil {
		fmt.Fprintf(b, "**%v**\n\n", i.err)
		return
	}
	perSession := func(kib int64) string { return fmt.Sprintf("%.1f", float64(kib-i.before)/idleSessions) }
	rows := [][]string{
		{"Proxy with", "VmRSS, KiB", "KiB a session", "CPU in " + cpuWindow.String()},
		{"no session", fmt.Sprint(i.before), "", cpuFigure(i.cpu, i.cpuNone)},
		{fmt.Sprintf("%d sessions", idleSessions), fmt.Sprint(i.fresh), perSession(i.fresh), cpuFigure(i.cpu, i.cpuAll)},
		{"the same after a reply of 100 kB to each", fmt.Sprint(i.used), perSession(i.used), ""},
	}
	table(b, 1, rows)
}

func cpuFigure(measured bool, d time.Duration) string {
	if !measured {
		return ""
	}
	return milliseconds(d)
}

// group gives the cells of a table.
func (r *report) group(name string) []*result {
	var out []*result
	for _, c := range r.cells {
		if c.part(0) == name {
			out = append(out, c)
		}
	}
	return out
}

// spread shows the median with the extremes.
func spread(v []float64) string {
	if len(v) == 0 {
		return "-"
	}
	if len(v) == 1 {
		return fmt.Sprintf("%.2f", v[0])
	}
	return fmt.Sprintf("%.2f (%.2f to %.2f)", median(v), slices.Min(v), slices.Max(v))
}
