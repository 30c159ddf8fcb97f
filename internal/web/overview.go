package web

import (
	"slices"
	"time"

	"mbusproxy/internal/web/sampling"
)

// allViews are the pages, in the order of the navigation.
func (p *Page) allViews() []*view {
	return slices.Concat(
		[]*view{{path: Path, sheet: "overview.html", nav: "Overview", every: 2 * time.Second, load: loadOverview}},
		p.queueViews(), p.messageViews(), p.deadViews(), p.operationViews(), p.workViews(), p.semaphoreViews(), p.sessionViews(), p.horizonViews(), p.auditViews(),
	)
}

// allForms are what changes something.
func (p *Page) allForms() []*form {
	return slices.Concat(p.queueForms(), p.deadForms(), p.workForms(), p.sessionForms())
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

// overview is what the first page shows.
type overview struct {
	Queues       []queueRow
	More         bool // than are shown
	Filter       Text
	Rates        []rateRow
	Figures      []sampling.Figure
	Process      []sampling.Figure // for members of the console's role
	Paused       bool
	Dead, Errors int64
}

// rateRow is a row of mbus4.rates.
type rateRow struct {
	Minutes         int64
	Posted, Removed *float64
}

const queuesSQL = `select q.queue, q.kind, q.consumers, q.ready, q.delayed, q.waiting, q.leased, q.held, q.dead, coalesce(q.selector_errors, 0) as selector_errors,
	coalesce(` + sampling.ReadySeconds + `, -1) as oldest, q.paused, q.exact
from mbus4.queues q
where pg_catalog.strpos(q.queue, pg_catalog.lower($1)) operator(pg_catalog.>) 0
order by q.ready desc, q.queue
limit $2`

func loadOverview(c *call) (*shown, error) {
	o := &overview{Filter: Text(c.query.Get("filter"))}
	if !c.may.See {
		return &shown{title: "Overview", body: o}, nil
	}
	var err error
	if o.Queues, err = collect[queueRow](c, queuesSQL, o.Filter.Raw(), mostQueues+1); err != nil {
		return nil, err
	}
	if len(o.Queues) > mostQueues {
		o.Queues, o.More = o.Queues[:mostQueues], true
	}
	for _, q := range o.Queues {
		o.Paused = o.Paused || q.Paused
		o.Dead += q.Dead
		o.Errors += q.SelectorErrors
	}
	if o.Rates, err = collect[rateRow](c, `select (extract(epoch from r.over) operator(pg_catalog./) 60)::pg_catalog.int8 as minutes, r.posted_per_second::float8, r.removed_per_second::float8 from mbus4.rates r order by r.over`); err != nil {
		return nil, err
	}
	o.Figures = c.page.samples.Depth(c.login.Database, "")
	if c.may.Process {
		o.Process = c.page.samples.Process()
	}
	return &shown{title: "Overview", body: o}, nil
}
