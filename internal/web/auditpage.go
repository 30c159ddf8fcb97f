package web

import (
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
)

func (p *Page) auditViews() []*view {
	return []*view{{path: Path + "audit", sheet: "audit.html", nav: "Audit", every: 5 * time.Second, load: loadAudit}}
}

const mostAudit = 100

// auditRow is a row of mbus4.audit.
type auditRow struct {
	ID                        int64
	At                        time.Time
	Role, ActingAs            Text
	Address, Application      Text
	Action                    Text
	Queue, Consumer, Selector Text
	Messages                  *int64
	Details                   Text
}

// auditSheet is what the sheet of the audit shows.
type auditSheet struct {
	Rows   []auditRow
	Next   string
	First  bool
	May    bulkRights
	Filter Text
}

const auditSQL = `
select a.id, a.at, a.role::text, coalesce(a.acting_as::text, ''), coalesce(pg_catalog.host(a.address), ''), coalesce(a.application, ''), a.action,
       coalesce(a.queue, ''), coalesce(a.consumer, ''), coalesce(a.selector, ''), a.messages, coalesce(a.details::text, '')
from mbus4.audit a
where a.id operator(pg_catalog.<) $1 or $1 operator(pg_catalog.=) 0
order by a.id desc
limit $2`

func loadAudit(c *call) (*shown, error) {
	sheet := &auditSheet{First: c.query.Get("before") == ""}
	out := &shown{title: "Audit", body: sheet}
	var err error
	if sheet.May, err = bulkRightsOf(c.ctx, c.tx); err != nil || !sheet.May.Audit {
		return out, err
	}
	before, err := numberOf(c.query.Get("before"))
	if err != nil {
		return nil, err
	}
	rows, err := c.tx.Query(c.ctx, auditSQL, before, mostAudit+1)
	if err != nil {
		return nil, fmt.Errorf("asking for the audit: %w", err)
	}
	if sheet.Rows, err = pgx.CollectRows(rows, pgx.RowToStructByPos[auditRow]); err != nil {
		return nil, fmt.Errorf("asking for the audit: %w", err)
	}
	if len(sheet.Rows) > mostAudit {
		sheet.Rows = sheet.Rows[:mostAudit]
		sheet.Next = link("audit", "before", sheet.Rows[mostAudit-1].ID)
	}
	return out, nil
}

// Count is of how many messages it was.
func (r auditRow) Count() int64 {
	if r.Messages == nil {
		return 0
	}
	return *r.Messages
}
