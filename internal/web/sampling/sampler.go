package sampling

import (
	"context"
	"fmt"
	"math"
	"strings"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"

	"mbusproxy/internal/web/access"
	"mbusproxy/internal/web/chart"
	"mbusproxy/internal/web/format"
	"mbusproxy/internal/web/history"
	"mbusproxy/proxy"
)

// Config is what a Sampler needs of the page. Its functions are safe for concurrent use.
type Config struct {
	Proxy func() proxy.Stats
	// Calls gives for each function how many statements with calls of it have run and failed.
	Calls func(each func(function string, ok, failed uint64))
	// Each gives the log-ins.
	Each func(f func(*access.Login))
	// MaySee reports whether the role of a transaction may see the queues.
	MaySee func(ctx context.Context, tx pgx.Tx) (bool, error)
}

// ReadySeconds is for how long the oldest message of a row of mbus4.queues or mbus4.consumers has
// been ready; null where none is, or where its time is none, which somebody has written past the
// functions.
const ReadySeconds = `extract(epoch from pg_catalog.clock_timestamp() operator(pg_catalog.-) case when pg_catalog.isfinite(oldest_ready) then oldest_ready end)::float8`

const (
	// mostDatabases is how many databases the sampler keeps the last hour of.
	mostDatabases = 16
	// idleAfter is when one that has not been sampled makes room for another: nobody is logged in.
	idleAfter = 3 * history.Step
)

// Sampler notes numbers for the charts: of the process always, of a database while somebody is
// logged in to it who may see its queues, in a session of such a log-in. So what is kept of a
// database is what each role may see that may see mbus4.queues, and is shown to no other.
type Sampler struct {
	cfg     Config
	process *history.Ring

	mu        sync.Mutex
	databases map[string]*history.Ring
}

// New returns a Sampler that has noted nothing.
func New(cfg Config) *Sampler {
	return &Sampler{cfg: cfg, process: history.New(), databases: map[string]*history.Ring{}}
}

// Run samples until ctx ends.
func (s *Sampler) Run(ctx context.Context) {
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
func (s *Sampler) sampleProcess(now time.Time) {
	st := s.cfg.Proxy()
	values := map[string]float64{"sessions": float64(len(st.Sessions)), "from clients": float64(st.FromClients), "from servers": float64(st.FromServers)}
	s.cfg.Calls(func(function string, ok, failed uint64) {
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
func (s *Sampler) sampleDatabases(ctx context.Context) {
	tried := map[string]int{}
	s.cfg.Each(func(l *access.Login) {
		if tried[l.Database] < 0 || tried[l.Database] > 3 || ctx.Err() != nil {
			return
		}
		tried[l.Database]++
		if s.sample(ctx, l) == nil {
			tried[l.Database] = -1
		}
	})
}

// ring is the last hour of a database; nil where too many have somebody logged in.
func (s *Sampler) ring(database string) *history.Ring {
	s.mu.Lock()
	defer s.mu.Unlock()
	r := s.databases[database]
	if r == nil {
		if len(s.databases) >= mostDatabases && !s.drop(time.Now()) {
			return nil
		}
		r = history.New()
		s.databases[database] = r
	}
	return r
}

// drop forgets the database that has not been sampled for longest, and reports whether there was one
// that could go.
func (s *Sampler) drop(now time.Time) bool {
	least, at := "", now.Add(-idleAfter)
	for database, r := range s.databases {
		if last := r.Last(); last.Before(at) {
			least, at = database, last
		}
	}
	delete(s.databases, least)
	return least != ""
}

const sampleSQL = `select q.queue, q.ready operator(pg_catalog.+) q.held as depth, coalesce(` + ReadySeconds + `, 0) as oldest
from mbus4.queues q
order by depth desc
limit 100`

// sample notes what is in a log-in's database.
func (s *Sampler) sample(ctx context.Context, l *access.Login) error {
	r := s.ring(l.Database)
	if r == nil {
		return nil
	}
	values := map[string]float64{}
	return l.View(ctx, func(ctx context.Context, tx pgx.Tx) error {
		see, err := s.cfg.MaySee(ctx, tx)
		if err != nil {
			return err
		}
		if !see {
			return fmt.Errorf("the role may not see the queues")
		}
		if time.Since(r.Last()) > history.Kept*history.Step {
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

// Figure is a chart with its words, as chart.html shows it.
type Figure struct {
	Name, Now, Most string
	Second          string // what the second line is
	Chart           chart.Chart
}

// Depth are the charts of a database, or of one of its queues.
func (s *Sampler) Depth(database, queue string) []Figure {
	r, now := s.ring(database), time.Now()
	if r == nil {
		return nil
	}
	suffix := ""
	if queue != "" {
		suffix = " " + queue
	}
	depth, oldest := chart.New(r.Values("depth"+suffix, now)), chart.New(r.Values("oldest"+suffix, now))
	out := []Figure{
		{Name: "ready and held", Now: whole(depth.Lines[0].Last), Most: whole(depth.Most), Chart: depth},
		{Name: "oldest ready", Now: format.Duration(notNegative(oldest.Lines[0].Last)), Most: format.Duration(oldest.Most), Chart: oldest},
	}
	if queue != "" {
		return out
	}
	posted, removed := r.Rates("posted", now), r.Rates("removed", now)
	both := chart.New(posted, removed)
	return append([]Figure{{
		Name: "posted a second", Second: "removed", Now: format.Rate(both.Lines[0].Last), Most: format.Rate(both.Most), Chart: both,
	}}, out...)
}

// Process are the charts of the process.
func (s *Sampler) Process() []Figure {
	now := time.Now()
	calls := chart.New(s.process.Rates("posts", now), s.process.Rates("consumes", now))
	sessions := chart.New(s.process.Values("sessions", now))
	in := chart.New(s.process.Rates("from clients", now), s.process.Rates("from servers", now))
	return []Figure{
		{Name: "statements with posts a second", Second: "with consumes", Now: format.Rate(calls.Lines[0].Last), Most: format.Rate(calls.Most), Chart: calls},
		{Name: "sessions", Now: whole(sessions.Lines[0].Last), Most: whole(sessions.Most), Chart: sessions},
		{Name: "bytes a second from clients", Second: "from servers", Now: bytesOrNone(in.Lines[0].Last), Most: bytesOrNone(in.Most), Chart: in},
	}
}

func whole(v float64) string {
	if math.IsNaN(v) {
		return "–"
	}
	return format.Number(int64(v))
}

func bytesOrNone(v float64) string {
	if math.IsNaN(v) {
		return "–"
	}
	return format.Bytes(v)
}

// notNegative is v, or what duration writes as nothing.
func notNegative(v float64) float64 {
	if math.IsNaN(v) {
		return -1
	}
	return v
}
