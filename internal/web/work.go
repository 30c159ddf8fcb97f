package web

import (
	"context"
	"fmt"
	"net/http"
	"strconv"
	"time"

	"github.com/jackc/pgx/v5"
)

func (p *Page) workViews() []*view {
	return []*view{{path: Path + "work", sheet: "work.html", nav: "Work queue", every: 3 * time.Second, load: loadWork}}
}

func (p *Page) workForms() []*form {
	return []*form{{path: Path + "work/release", run: release}}
}

// workSheet is what work.html shows.
type workSheet struct {
	Ready, Later, Claimed, Failing int64 // at most mostWork of each are counted
	Most                           int64
	Processes                      []processRow
	Rows                           []workRow
	MayRelease                     bool
}

// processRow is a process that has claimed rows.
type processRow struct {
	Process int32
	Claimed int64
}

// workRow is a row of mbus4.work_queue.
type workRow struct {
	ID        int64
	Payload   Text
	Process   *int32
	Attempts  int32
	LastError Text
	In        float64 // seconds until it may be tried
}

const (
	// mostWork is how many rows are counted of each kind.
	mostWork = 10000
	// mostPayload is from how many bytes on, as they are stored, a payload is not shown: to write a
	// part of it the server has to write the whole, which may be a hundred times as large.
	mostPayload = 8000
)

func loadWork(c *call) (*shown, error) {
	if !c.may.Work {
		return nil, noSight
	}
	s := &workSheet{Most: mostWork}
	if err := settle(c.ctx, c.tx); err != nil {
		return nil, fmt.Errorf("asking for the work queue: %w", err)
	}
	err := c.tx.QueryRow(c.ctx, `select
	(select count(*) from (select from mbus4.work_queue w where w.process_id is null and w.next_attempt_at operator(pg_catalog.<=) pg_catalog.clock_timestamp() order by w.next_attempt_at, w.id limit $1) x),
	(select count(*) from (select from mbus4.work_queue w where w.process_id is null and w.next_attempt_at operator(pg_catalog.>) pg_catalog.clock_timestamp() order by w.next_attempt_at, w.id limit $1) x),
	(select count(*) from (select from mbus4.work_queue w where w.process_id is not null order by w.process_id limit $1) x),
	pg_catalog.has_table_privilege('mbus4.work_queue', 'update')`, mostWork).Scan(&s.Ready, &s.Later, &s.Claimed, &s.MayRelease)
	if err != nil {
		return nil, fmt.Errorf("asking for the work queue: %w", err)
	}
	if s.Processes, err = collect[processRow](c, `select w.process_id, count(*) from (select w.process_id from mbus4.work_queue w where w.process_id is not null order by w.process_id limit $1) w group by w.process_id order by w.process_id limit 200`, mostWork); err != nil {
		return nil, err
	}
	const columns = `select w.id, case when pg_catalog.pg_column_size(w.payload) operator(pg_catalog.>) $1 then 'too long to be shown in a list' else pg_catalog."left"(w.payload::text, 300) end, w.process_id, w.attempts, coalesce(pg_catalog."left"(w.last_error, 300), ''), coalesce(extract(epoch from case when pg_catalog.isfinite(w.next_attempt_at) then w.next_attempt_at end operator(pg_catalog.-) pg_catalog.clock_timestamp())::float8, 0) from mbus4.work_queue w `
	s.Rows, err = collect[workRow](c, `(`+columns+`where w.process_id is not null order by w.process_id limit 50) union all (`+columns+`where w.process_id is null order by w.next_attempt_at, w.id limit 50)`, mostPayload)
	if err != nil {
		return nil, err
	}
	for _, r := range s.Rows {
		if r.Attempts > 0 {
			s.Failing++
		}
	}
	return &shown{title: "Work queue", body: s}, nil
}

// release gives back what a process has claimed.
func release(s *submission) (to, told string, err error) {
	process, err := strconv.ParseInt(s.value("process"), 10, 32)
	if err != nil {
		return "", "", &problem{http.StatusBadRequest, "There is no such process", "It is a number.", ""}
	}
	err = s.change(audit{action: "release_messages", detail: map[string]string{"process": s.value("process")}}, func(ctx context.Context, tx pgx.Tx) error {
		_, err := tx.Exec(ctx, "select mbus4.release_messages($1::int)", int32(process))
		return err
	})
	return Path + "work", fmt.Sprintf("The rows that process %d had claimed can be claimed again.", process), err
}
