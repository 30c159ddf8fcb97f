package main

import (
	"context"
	"fmt"
)

var (
	actions   = []string{"post", "consume"}
	batches   = []int{1, 100}
	workloads = []*workload{plain, headers, busy, named, fan, after}
)

// queueSpec is what a cell of queues measures.
type queueSpec struct {
	work    *workload
	action  string
	batch   int
	mode    string
	clients int
}

// name is post/BATCH/PROTOCOL/CLIENTS, post-WORKLOAD/BATCH/… for others than the plain one; or the same of consume.
func (q queueSpec) name() string {
	what := q.action
	if q.work.name != "" {
		what += "-" + q.work.name
	}
	return fmt.Sprintf("%s/%d/%s/%d", what, q.batch, q.mode, q.clients)
}

// takesTurns tells whether its sessions say the same statement all the time, so that the arms can
// take turns many times a second.
func (q queueSpec) takesTurns() bool { return q.work == plain && q.batch == 1 }

// queueSpecs are all cells of queues: all protocols and sizes with 8 clients; other numbers of
// clients, and other workloads, one message at a time, by the protocols that matter to them.
func queueSpecs() []queueSpec {
	var specs []queueSpec
	for _, action := range actions {
		for _, batch := range batches {
			for _, mode := range protocols {
				specs = append(specs, queueSpec{plain, action, batch, mode, 8})
			}
		}
	}
	for _, action := range actions {
		for _, clients := range []int{1, 32} {
			specs = append(specs, queueSpec{plain, action, 1, "prepared", clients})
		}
	}
	for _, w := range workloads[1:] {
		for _, action := range actions {
			for _, mode := range workloadProtocols(w) {
				specs = append(specs, queueSpec{w, action, 1, mode, 8})
			}
		}
	}
	return specs
}

// workloadProtocols has the simple protocol where there is a target to hold.
func workloadProtocols(w *workload) []string {
	if w == headers || w == busy {
		return []string{"simple", "prepared"}
	}
	return []string{"prepared"}
}

func (b *bench) queueCells() []*cell {
	var cells []*cell
	for _, q := range queueSpecs() {
		if q.action == "post" {
			cells = append(cells, b.postCell(q))
		} else {
			cells = append(cells, b.consumeCell(q))
		}
	}
	return cells
}

func (b *bench) postCell(q queueSpec) *cell {
	c := &cell{name: q.name()}
	if q.takesTurns() {
		tables := shelf{}
		for _, s := range b.sides(q.work) {
			c.turns = append(c.turns, turn{name: s.name, path: s.path, clients: q.clients, say: always(q.mode, s.postOne()), stock: tables.of(s, true)})
		}
		return c
	}
	for _, s := range b.sides(q.work) {
		c.arms = append(c.arms, arm{name: s.name, run: func(ctx context.Context) (sample, error) {
			return b.post(ctx, s, q.batch, load{mode: q.mode, clients: q.clients, seconds: b.opt.seconds})
		}})
	}
	return c
}

// post runs a load that posts, into an empty table.
func (b *bench) post(ctx context.Context, on side, batch int, l load) (sample, error) {
	if err := b.refill(ctx, on, 0); err != nil {
		return sample{}, err
	}
	l.script = on.post(batch, l.mode)
	s, err := b.pgbench(ctx, on.path, l)
	if err != nil {
		return s, err
	}
	s.batches = int64(batch)
	return s, b.expect(ctx, on, s.count*s.batches)
}
