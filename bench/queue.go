package main

import (
	"context"
	"fmt"
)

var (
	batches        = []int{1, 100}
	queueClients   = []int{1, 8}
	queueProtocols = []string{"prepared", "simple"}
)

func queueNames() []string {
	var names []string
	for _, what := range []string{"post", "consume"} {
		for _, batch := range batches {
			for _, mode := range queueProtocols {
				for _, clients := range queueClients {
					names = append(names, queueCellName(what, batch, mode, clients))
				}
			}
		}
	}
	return names
}

func queueCellName(what string, batch int, mode string, clients int) string {
	return fmt.Sprintf("%s/%d/%s/%d", what, batch, mode, clients)
}

// queueCells are post and consume through the proxy and by hand-written SQL directly.
func (b *bench) queueCells() []*cell {
	var cells []*cell
	for _, batch := range batches {
		for _, mode := range queueProtocols {
			for _, clients := range queueClients {
				cells = append(cells, b.postCell(batch, mode, clients))
			}
		}
	}
	for _, batch := range batches {
		for _, mode := range queueProtocols {
			for _, clients := range queueClients {
				cells = append(cells, b.consumeCell(batch, mode, clients))
			}
		}
	}
	return cells
}

// The value differs from call to call, as it does in applications: under the simple protocol every text is new.
const newValue = "\\set n random(1, 1000000000)\n"

func ourPost(batch int) string {
	if batch == 1 {
		return newValue + "select mbus4.post('" + queueName + "', hstore('n', :n::text));"
	}
	return newValue + fmt.Sprintf("select mbus4.post('%s', hstore('n', (g + :n)::text)) from generate_series(1, %d) g;", queueName, batch)
}

// handPost gives the ids back, as post gives the iids.
func handPost(batch int) string {
	if batch == 1 {
		return newValue + "insert into q(data) values (hstore('n', :n::text)) returning id;"
	}
	return newValue + fmt.Sprintf("insert into q(data) select hstore('n', (g + :n)::text) from generate_series(1, %d) g returning id;", batch)
}

func (b *bench) postCell(batch int, mode string, clients int) *cell {
	c := &cell{name: queueCellName("post", batch, mode, clients)}
	for _, x := range []struct {
		side   side
		script string
	}{{b.hand(), handPost(batch)}, {b.ours(), ourPost(batch)}} {
		c.arms = append(c.arms, arm{name: x.side.name, run: func(ctx context.Context) (sample, error) {
			if err := b.refill(ctx, x.side, 0); err != nil {
				return sample{}, err
			}
			s, err := b.pgbench(ctx, x.side.path, load{script: x.script, mode: mode, clients: clients, seconds: b.opt.seconds})
			if err != nil {
				return s, err
			}
			s.batches = int64(batch)
			return s, b.expect(ctx, x.side, s.count*s.batches)
		}})
	}
	return c
}
