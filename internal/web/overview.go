package web

import (
	"fmt"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"
)

// allViews are the pages, in the order of the navigation.
func (p *Page) allViews() []*view {
	return slices.Concat(
		[]*view{{path: Path, sheet: "overview.html", nav: "Overview", every: 2 * time.Second, load: loadOverview}},
		p.deadViews(), p.operationViews(), p.auditViews(),
	)
}

// allForms are what changes something.
func (p *Page) allForms() []*form {
	return slices.Concat(p.deadForms())
}

// mostQueues is how many queues the overview shows.
const mostQueues = 500

// queueRow is a row of mbus4.queues.
type queueRow struct {
	Queue, Kind                           Text
	Consumers                             int64
	Ready, Delayed, Waiting, Leased, Held int64
	Dead, SelectorErrors                  int64
	Oldest                                float64 // for how many seconds; less than 0: none is ready
	Paused, Exact                         bool
}

// overview is what overview.html shows.
type overview struct {
	Queues []queueRow
	More   bool
	Filter Text
	Rates  []rateRow
}

// rateRow is a row of mbus4.rates.
type rateRow struct {
	Over            Text
	Posted, Removed *float64
}

const queuesSQL = `select q.queue, q.kind, q.consumers, q.ready, q.delayed, q.waiting, q.leased, q.held, q.dead, coalesce(q.selector_errors, 0) as selector_errors,
	coalesce(extract(epoch from pg_catalog.clock_timestamp() operator(pg_catalog.-) q.oldest_ready)::float8, -1) as oldest, q.paused, q.exact
from mbus4.queues q
where pg_catalog.strpos(q.queue, pg_catalog.lower($1)) operator(pg_catalog.>) 0
order by q.ready desc, q.queue
limit $2`

func loadOverview(c *call) (*shown, error) {
	o := &overview{Filter: Text(c.query.Get("filter"))}
	if !c.may.See {
		return &shown{title: "Overview", body: o}, nil
	}
	rows, err := c.tx.Query(c.ctx, queuesSQL, o.Filter.Raw(), mostQueues+1)
	if err != nil {
		return nil, fmt.Errorf("asking for the queues: %w", err)
	}
	if o.Queues, err = pgx.CollectRows(rows, pgx.RowToStructByPos[queueRow]); err != nil {
		return nil, fmt.Errorf("asking for the queues: %w", err)
	}
	if len(o.Queues) > mostQueues {
		o.Queues, o.More = o.Queues[:mostQueues], true
	}
	rows, err = c.tx.Query(c.ctx, `select r.over::text, r.posted_per_second::float8, r.removed_per_second::float8 from mbus4.rates r order by r.over`)
	if err != nil {
		return nil, fmt.Errorf("asking for the rates: %w", err)
	}
	if o.Rates, err = pgx.CollectRows(rows, pgx.RowToStructByPos[rateRow]); err != nil {
		return nil, fmt.Errorf("asking for the rates: %w", err)
	}
	return &shown{title: "Overview", body: o}, nil
}
