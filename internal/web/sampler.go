package web

import (
	"context"
	"fmt"
	"maps"
	"math"
	"strings"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"

	"mbusproxy/internal/web/access"
	"mbusproxy/internal/web/chart"
	"mbusproxy/internal/web/history"
)

// mostDatabases is how many databases the sampler keeps the last hour of.
const mostDatabases = 16

// sampler notes numbers for the charts: of the process always, of a database while somebody is logged in to it who may see its queues, in a session of such
// a log-in. So what is kept of a database is what each role may see that may see mbus4.queues, and is shown to no other.
type sampler struct {
	page    *Page
	process *history.Ring

	mu        sync.Mutex
	databases map[string]*history.Ring
}

func newSampler(p *Page) *sampler {
	return &sampler{page: p, process: history.New(), databases: map[string]*history.Ring{}}
}

// run samples until ctx ends.
func (s *sampler) run(ctx context.Context) {
	tick := time.NewTicker(history.Step)
	defer tick.Stop()
	for {
		s.sampleProcess(time.Now())
		s.sampleDatabases(ctx)
		select {
		case <-tick.C:
		case <-ctx.Done():
			return
		}
	}
}

// sampleProcess notes what the proxy counts.
func (s *sampler) sampleProcess(now time.Time) {
	st := s.page.cfg.Proxy()
	values := map[string]float64{"sessions": float64(len(st.Sessions)), "from clients": float64(st.FromClients), "from servers": float64(st.FromServers)}
	s.page.cfg.Calls(func(function string, ok, failed uint64) {
		kind := "other calls"
		switch {
		case strings.HasPrefix(function, "post"):
			kind = "posts"
		case strings.Contains(function, "consume") && !strings.HasPrefix(function, "create") && !strings.HasPrefix(function, "drop"), function == "lease":
			kind = "consumes"
		}
		values[kind] += float64(ok)
		values["failed calls"] += float64(failed)
	})
	s.process.Put(now, values)
}

// sampleDatabases asks one log-in of each database.
func (s *sampler) sampleDatabases(ctx context.Context) {
	tried := map[string]int{}
	s.page.logins.Each(func(l *access.Login) {
		if tried[l.Database] < 0 || tried[l.Database] > 3 || ctx.Err() != nil {
			return
		}
		tried[l.Database]++
		if s.sample(ctx, l) == nil {
			tried[l.Database] = -1
		}
	})
}

// ring is the last hour of a database; nil where there are too many.
func (s *sampler) ring(database string) *history.Ring {
	s.mu.Lock()
	defer s.mu.Unlock()
	r := s.databases[database]
	if r == nil {
		if len(s.databases) >= mostDatabases {
			maps.DeleteFunc(s.databases, func(_ string, o *history.Ring) bool { return o.Empty(time.Now()) })
		}
		if len(s.databases) >= mostDatabases {
			return nil
		}
		r = history.New()
		s.databases[database] = r
	}
	return r
}

const sampleSQL = `select q.queue, q.ready operator(pg_catalog.+) q.held as depth, coalesce(` + readySeconds + `, 0) as oldest
from mbus4.queues q
order by depth desc
limit 100`

// sample notes what is in a log-in's database.
func (s *sampler) sample(ctx context.Context, l *access.Login) error {
	r := s.ring(l.Database)
	if r == nil {
		return nil
	}
	values := map[string]float64{}
	return l.View(ctx, func(ctx context.Context, tx pgx.Tx) error {
		may, err := s.page.rights(ctx, tx)
		if err != nil {
			return err
		}
		if !may.See {
			return fmt.Errorf("the role may not see the queues")
		}
		if r.Empty(time.Now()) {
			if err := seed(ctx, tx, r); err != nil {
				return err
			}
		}
		var posted, removed int64
		if err := tx.QueryRow(ctx, `select pg_catalog.pg_stat_get_tuples_inserted('mbus4.message'::regclass), pg_catalog.pg_stat_get_tuples_deleted('mbus4.message'::regclass)`).Scan(&posted, &removed); err != nil {
			return fmt.Errorf("asking what was posted: %w", err)
		}
		values["posted"], values["removed"] = float64(posted), float64(removed)
		rows, err := tx.Query(ctx, sampleSQL)
		if err != nil {
			return fmt.Errorf("asking for the queues: %w", err)
		}
		var queue string
		var depth, all int64
		var old, oldest float64
		if _, err = pgx.ForEachRow(rows, []any{&queue, &depth, &old}, func() error {
			values["depth "+queue], values["oldest "+queue] = float64(depth), old
			all += depth
			oldest = max(oldest, old)
			return nil
		}); err != nil {
			return fmt.Errorf("asking for the queues: %w", err)
		}
		values["depth"], values["oldest"] = float64(all), oldest
		r.Put(time.Now(), values)
		return nil
	})
}

// seed takes over what housekeeping has noted of the last quarter of an hour.
func seed(ctx context.Context, tx pgx.Tx, r *history.Ring) error {
	rows, err := tx.Query(ctx, `select t.at, t.posted, t.removed from mbus4.traffic t order by t.at desc limit 200`)
	if err != nil {
		return fmt.Errorf("asking for the traffic: %w", err)
	}
	var at time.Time
	var posted, removed int64
	_, err = pgx.ForEachRow(rows, []any{&at, &posted, &removed}, func() error {
		r.Put(at, map[string]float64{"posted": float64(posted), "removed": float64(removed)})
		return nil
	})
	if err != nil {
		return fmt.Errorf("asking for the traffic: %w", err)
	}
	return nil
}

// figure is a chart with its words, as chart.html shows it.
type figure struct {
	Name, Now, Most string
	Second          string // what the second line is
	Chart           chart.Chart
}

// depthFigures are the charts of a database, or of one of its queues.
func (s *sampler) depthFigures(database, queue string) []figure {
	r, now := s.ring(database), time.Now()
	if r == nil {
		return nil
	}
	suffix := ""
	if queue != "" {
		suffix = " " + queue
	}
	depth, oldest := chart.New(r.Values("depth"+suffix, now)), chart.New(r.Values("oldest"+suffix, now))
	out := []figure{
		{Name: "ready and held", Now: whole(depth.Lines[0].Last), Most: whole(depth.Most), Chart: depth},
		{Name: "oldest ready", Now: duration(notNegative(oldest.Lines[0].Last)), Most: duration(oldest.Most), Chart: oldest},
	}
	if queue != "" {
		return out
	}
	posted, removed := r.Rates("posted", now), r.Rates("removed", now)
	both := chart.New(posted, removed)
	return append([]figure{{
		Name: "posted a second", Second: "removed", Now: rate(both.Lines[0].Last), Most: rate(both.Most), Chart: both,
	}}, out...)
}

// processFigures are the charts of the process.
func (s *sampler) processFigures() []figure {
	now := time.Now()
	calls := chart.New(s.process.Rates("posts", now), s.process.Rates("consumes", now))
	sessions := chart.New(s.process.Values("sessions", now))
	in := chart.New(s.process.Rates("from clients", now), s.process.Rates("from servers", now))
	return []figure{
		{Name: "statements with posts a second", Second: "with consumes", Now: rate(calls.Lines[0].Last), Most: rate(calls.Most), Chart: calls},
		{Name: "sessions", Now: whole(sessions.Lines[0].Last), Most: whole(sessions.Most), Chart: sessions},
		{Name: "bytes a second from clients", Second: "from servers", Now: bytesOrNone(in.Lines[0].Last), Most: bytesOrNone(in.Most), Chart: in},
	}
}

func whole(v float64) string {
	if math.IsNaN(v) {
		return "–"
	}
	return number(int64(v))
}

func bytesOrNone(v float64) string {
	if math.IsNaN(v) {
		return "–"
	}
	return byteCount(v)
}

// notNegative is v, or what duration writes as nothing.
func notNegative(v float64) float64 {
	if math.IsNaN(v) {
		return -1
	}
	return v
}
