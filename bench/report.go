package main

import (
	"fmt"
	"strings"
	"time"

	"mbusproxy/bench/internal/rig"
	"mbusproxy/bench/internal/semaphores"
)

// report collects what was measured.
type report struct {
	opt      options
	machine  []rig.Property
	began    time.Time
	took     time.Duration
	cells    []*result
	snapshot *snapshotResult    // nil: not run
	idle     *idleResult        // nil: not run
	slots    *semaphores.Result // nil: not run
	waiting  *waitingResult     // nil: not run
	seeing   *seeingResult      // nil: not run
	scraping *scrapingResult    // nil: not run
}

// valid tells whether every cell that was run gave a figure.
func (r *report) valid() bool {
	for _, c := range r.cells {
		if c.err != nil {
			return false
		}
	}
	return (r.snapshot == nil || r.snapshot.err == nil) && (r.idle == nil || r.idle.err == nil) && r.slots.Failed() == nil &&
		(r.seeing == nil || r.seeing.err == nil) && (r.scraping == nil || r.scraping.err == nil)
}

const preamble = `# Benchmark

Written by ` + "`make bench`" + `; do not edit. The arms of a line ran in turns within one run on one machine,
which Postgres, the clients and whatever stands between them share, in another order in each round. Throughput is in transactions a
second, the median of the rounds; the beginning of each run does not count. A ratio is the median of the rounds' ratios; behind it
its 95 % confidence interval, by order statistics, which holds for any distribution. With fewer than six rounds there is none, and the extremes stand there.

`

func (r *report) markdown() string {
	var b strings.Builder
	b.WriteString(preamble)
	rows := [][]string{{"Machine", ""}}
	for _, p := range r.machine {
		rows = append(rows, []string{p.Name, p.Value})
	}
	rows = append(rows,
		[]string{"Date", r.began.UTC().Format("2006-01-02 15:04 UTC") + ", took " + r.took.Round(time.Second).String()},
		[]string{"Command", "`" + r.opt.command() + "`"})
	rig.Table(&b, 2, rows)

	b.WriteString("## Targets\n\n")
	rows = [][]string{{"What", "Target", "Figure", "Reached?"}}
	for _, t := range r.targets() {
		rows = append(rows, []string{t.What, t.Wanted, t.Figure, t.State})
	}
	rig.Table(&b, 4, rows)

	r.passTables(&b)
	r.queueTable(&b, "post", "Post", "The hand-written statement inserts into\n"+
		"`q(id bigserial primary key, added timestamptz default now(), data hstore)` and gives\n"+
		"the id back; `mbus4.post` makes a row for each consumer, findable by its iid, and gives the iid back.\n"+
		"One at a time the value is a literal, else it is another one for each message, made by `hstore(…)`. All protocols and sizes are measured with 8 clients;\n"+
		"other numbers of clients with prepared statements and one message at a time. One at a time: "+r.opt.turnNote()+" A hundred at a time is pgbench's.")
	r.queueTable(&b, "consume", "Consume", "The hand-written statement deletes from the same `q` the rows that\n"+
		"`select … from q order by id limit n for update skip locked` finds, in the form that a trial with\n"+
		"8 clients and prepared statements found fastest (below). The tables are filled and vacuumed before each run, or whenever they are nearly empty.")
	r.workloadTable(&b)
	r.dynTable(&b)
	r.cpuTable(&b)
	r.tracingTable(&b)
	r.watchedTable(&b)
	r.snapshotTable(&b)
	r.idleTable(&b)
	r.slots.Table(&b)
	return strings.TrimSpace(b.String()) + "\n"
}

func (r *report) passTables(b *strings.Builder) {
	r.passTable(b, "select", 2, "Pass-through", fmt.Sprintf("What `pgbench -S` does, scale %d, through pgbouncer in session mode and through the proxy. CPU is that of the\n"+
		"process in the middle, in microseconds per transaction. %s", scale, r.opt.turnNote()), "Protocol")
	r.passTable(b, "tls", 2, "Pass-through with TLS", "The same with TLS from the client to the process in the middle; each has the cipher that it prefers.", "Protocol")
	var queries []string
	for _, q := range bulkQueries {
		queries = append(queries, fmt.Sprintf("%s: %s", q.name, q.about))
	}
	r.passTable(b, "bulk", 2, "Pass-through of much data", "A client that only reads, without libpq, asks again and again. "+strings.Join(queries, "; ")+".", "What")
}

func (r *report) passTable(b *strings.Builder, group string, left int, title, text, first string) {
	rows := [][]string{{first, "Clients", "direct", "pgbouncer", "proxy", "proxy / pgbouncer", "proxy / direct", "CPU µs, pgbouncer", "CPU µs, proxy"}}
	for _, c := range r.group(group) {
		row := []string{c.part(1), c.part(2)}
		if c.err != nil {
			rows = append(rows, append(row, "**"+c.err.Error()+"**"))
			continue
		}
		rows = append(rows, append(row,
			c.shown("direct"), c.shown("pgbouncer"), c.shown("proxy"),
			rig.Spread(c.ratios("proxy", "pgbouncer")), rig.Spread(c.ratios("proxy", "direct")),
			fmt.Sprintf("%.1f", c.cpu("pgbouncer")), fmt.Sprintf("%.1f", c.cpu("proxy"))))
	}
	section(b, title, text, left, rows)
}

// section writes a table of cells, where there are any.
func section(b *strings.Builder, title, text string, left int, rows [][]string) {
	if len(rows) == 1 {
		return
	}
	fmt.Fprintf(b, "## %s\n\n%s\n\n", title, text)
	rig.Table(b, left, rows)
}

// shown is the throughput of an arm, if it ran.
func (r *result) shown(arm string) string {
	if r.samples[arm] == nil {
		return "-"
	}
	return fmt.Sprintf("%.0f", r.tps(arm))
}

func (r *report) queueTable(b *strings.Builder, group, title, text string) {
	rows := [][]string{{"At a time", "Protocol", "Clients", handName, bouncerName, "proxy", "proxy, messages", "proxy / " + bouncerName, "proxy / " + handName, "CPU µs, pgbouncer", "CPU µs, proxy"}}
	for _, c := range r.group(group) {
		row := []string{c.part(1), c.part(2), c.part(3)}
		if c.err != nil {
			rows = append(rows, append(row, "**"+c.err.Error()+"**"))
			continue
		}
		batch := float64(c.samples[proxyName][0].batches)
		rows = append(rows, append(row,
			c.shown(handName), c.shown(bouncerName), c.shown(proxyName), fmt.Sprintf("%.0f", batch*c.tps(proxyName)),
			rig.Spread(c.ratios(proxyName, bouncerName)), rig.Spread(c.ratios(proxyName, handName)),
			fmt.Sprintf("%.1f", c.cpu(bouncerName)), fmt.Sprintf("%.1f", c.cpu(proxyName))))
	}
	section(b, title, text, 3, rows)
	r.notes(b, group)
}

// notes tells of the trials of a group.
func (r *report) notes(b *strings.Builder, groups ...string) {
	var notes []string
	for _, group := range groups {
		for _, c := range r.group(group) {
			if c.note != "" {
				notes = append(notes, fmt.Sprintf("- %s: %s", c.name, c.note))
			}
		}
	}
	if notes != nil {
		fmt.Fprintf(b, "Hand-written forms, with the transactions a second of the trial:\n\n%s\n\n", strings.Join(notes, "\n"))
	}
}

const workloadText = `One message at a time, 8 clients; with prepared statements, and where there is a target with the simple protocol, too.
Plain is the plain queue in its own database, in the same rounds.

- headers: each message has headers and an iid of its own; by hand they are columns, the iid unique.
- busy: a plain queue in a database with a queue with 10 consumers of which 5 have selectors, one with
  dependencies (1,000 messages that wait), and triggers between others. By hand nothing would change.
- named: the queue's name is a parameter; by hand it is a column, and the key begins with it.
- fan: in the same database, the queue with 10 consumers. Each message is for 6 of them; consuming is for one without a selector. By hand
  there is a row for each consumer, and the conditions stand in the INSERT.
- after: in the same database, each message waits for another: a client's for the one that it posted before. By hand consuming
  looks whether the other one is still there.`

// workloadTable shows what is not plain.
func (r *report) workloadTable(b *strings.Builder) {
	rows := [][]string{{"Queue", "Call", "Protocol", handName, bouncerName, plainName, "proxy", "proxy / " + bouncerName, "proxy / plain", "CPU µs, proxy"}}
	var groups []string
	for _, w := range workloads[1:] {
		for _, action := range actions {
			groups = append(groups, action+"-"+w.name)
			for _, c := range r.group(action + "-" + w.name) {
				row := []string{w.name, action, c.part(2)}
				if c.err != nil {
					rows = append(rows, append(row, "**"+c.err.Error()+"**"))
					continue
				}
				rows = append(rows, append(row,
					c.shown(handName), c.shown(bouncerName), c.shown(plainName), c.shown(proxyName),
					rig.Spread(c.ratios(proxyName, bouncerName)), rig.Spread(c.ratios(proxyName, plainName)), fmt.Sprintf("%.1f", c.cpu(proxyName))))
			}
		}
	}
	section(b, "Other queues and calls", workloadText, 3, rows)
	r.notes(b, groups...)
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
			fmt.Sprintf("%.0f", rig.Median(s.held[partKey("proxy", part)])), rig.Spread(s.ratio[partKey("proxy", part)]),
			fmt.Sprintf("%.0f", rig.Median(s.held[partKey(handName, part)])), rig.Spread(s.ratio[partKey(handName, part)]),
		})
	}
	rig.Table(b, 1, rows)
	fmt.Fprintf(b, "On a clean table: %.0f through the proxy.\n\n", rig.Median(s.clean))
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
	rig.Table(b, 1, rows)
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
