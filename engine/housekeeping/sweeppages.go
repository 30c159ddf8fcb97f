package housekeeping

import (
	"context"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"mbusproxy/engine/refusal"
)

const (
	firstPages = 128                   // of the table read in one statement; as many more or fewer as take about
	pagesTake  = 30 * time.Millisecond // that
	mostPages  = 8192
)

// pagePass is a pass over the pages of mbus4.message.
//
// An index knows the way to what is to be removed, but under a snapshot that stays open the entries
// of what was removed before stand on that way, as many as there ever were, and a statement has to
// pass them all to find the first row. A page has no more than some hundred rows, dead ones
// included, so a statement that reads a number of pages takes a time that has a bound. Reading all of
// a large table costs more than the way by the index, which is why that is tried first each time.
type pagePass struct {
	next, end int64 // pages; end 0: no pass is under way
	size      int64 // pages that one statement reads
}

func (p *pagePass) under() bool { return p.end > 0 }

// begin has a pass begin with the next turn.
func (p *pagePass) begin() { *p = pagePass{end: 1<<32 - 1, size: firstPages} }

// What has expired, or whose consumer does not exist, on the pages from $2 to below $3.
const sweepPagesSQL = `
with due as materialized (
	select m.ctid
	from mbus4.message m
	where m.ctid >= $2::text::tid and m.ctid < $3::text::tid
	  and m.consumer_id <> 1
	  and (m.expires <= coalesce($1::timestamptz, now()) and not ` + unsweptLease + `
	       or (select 1 from mbus4.consumer c where c.id = m.consumer_id) is null)
	for update skip locked
), gone as (
	delete from mbus4.message where ctid = any (array(select ctid from due)) returning 1
)
select (select count(*) from gone), pg_catalog.pg_relation_size('mbus4.message') / pg_catalog.current_setting('block_size')::int`

// sweepPages goes on with the pass that is under way.
func (s *sweeper) sweepPages(ctx context.Context, conn *pgx.Conn, turn *slice) (total int64, err error) {
	p := &s.pages
	for {
		began := time.Now()
		var gone int64
		to := min(p.next+p.size, p.end)
		err := conn.QueryRow(ctx, sweepPagesSQL, s.asOf(), fmt.Sprintf("(%d,0)", p.next), fmt.Sprintf("(%d,0)", to)).Scan(&gone, &p.end)
		took := time.Since(began)
		switch {
		case refusal.SQLState(err) == refusal.QueryCanceled && p.size > 1:
			p.size = max(p.size/8, 1)
		case refusal.SQLState(err) == refusal.QueryCanceled: // headers of any size may stand on one page
			p.next = to
			return total, fmt.Errorf("sweeping a page of messages: %w", err)
		case err != nil:
			return total, fmt.Errorf("sweeping pages of messages: %w", err)
		default:
			total += gone
			p.next = to
			switch {
			case took > 2*pagesTake:
				p.size = max(p.size/2, 1)
			case took < pagesTake/2:
				p.size = min(2*p.size, mostPages)
			}
			if p.next >= p.end {
				*p = pagePass{}
				return total, nil
			}
		}
		if turn.over() {
			return total, nil
		}
	}
}
