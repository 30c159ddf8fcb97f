package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5/pgconn"

	"mbusproxy/bench/internal/rig"
)

const (
	clients = 4
	limit   = 10 * time.Second // of one statement; a call that takes longer counts as one that takes so long
	warm    = 7                // runs after which the server has settled on a plan
)

// serial makes numbers that no call of a run has had before.
var serial atomic.Int64

// crowd is sessions of one site, which keep what they have prepared.
type crowd struct {
	site    *site
	members []*member
}

type member struct {
	conn     *pgconn.PgConn
	prepared map[string]bool
}

// open opens the sessions.
func (c *crowd) open(ctx context.Context) error {
	for range clients {
		conn, err := c.site.open(ctx, c.site.stack.Proxy)
		if err == nil {
			c.members = append(c.members, &member{conn, map[string]bool{}})
			_, err = rig.Query(ctx, conn, fmt.Sprintf("set statement_timeout = %d", limit.Milliseconds()))
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func (c *crowd) close() {
	for _, m := range c.members {
		rig.CloseConn(m.conn)
	}
	c.members = nil
}

// prepare has all sessions prepare and plan calls.
func (c *crowd) prepare(ctx context.Context, what []target) error {
	for _, t := range what {
		for _, m := range c.members {
			for range warm {
				if _, err := m.run(ctx, t); err != nil {
					return fmt.Errorf("%s: %w", t.name(), err)
				}
			}
		}
	}
	return nil
}

// target is a call of a queue.
type target struct {
	call  *call
	queue string
}

func (t target) name() string { return t.queue + "/" + t.call.name }

// run makes a call. It gives the number of rows of the last statement.
func (m *member) run(ctx context.Context, t target) (rows int, err error) {
	number, last := strconv.FormatInt(serial.Add(1), 10), ""
	for _, step := range t.call.steps {
		sql := of(step, t.queue)
		var r *pgconn.Result
		if t.call.simple {
			results, err := m.conn.Exec(ctx, strings.NewReplacer("$1", number, "$2", last).Replace(sql)).ReadAll()
			if err != nil {
				return 0, err
			}
			r = results[0]
		} else if r, err = m.execute(ctx, sql, number, last); err != nil {
			return 0, err
		}
		if rows = len(r.Rows); rows > 0 && len(r.Rows[0]) > 0 {
			last = string(r.Rows[0][0])
		}
	}
	return rows, nil
}

func (m *member) execute(ctx context.Context, sql, number, last string) (*pgconn.Result, error) {
	var args [][]byte
	if strings.Contains(sql, "$1") {
		args = append(args, []byte(number))
	}
	if strings.Contains(sql, "$2") { // as the first one, then: a text has either
		sql = strings.ReplaceAll(sql, "$2", "$1")
		args = append(args, []byte(last))
	}
	if !m.prepared[sql] {
		if _, err := m.conn.Prepare(ctx, sql, sql, nil); err != nil {
			return nil, err
		}
		m.prepared[sql] = true
	}
	r := m.conn.ExecPrepared(ctx, sql, args, nil, nil).Read()
	return r, r.Err
}

// sample is what one run of a call gave.
type sample struct {
	rate  float64       // a second
	p99   time.Duration // of the calls
	stuck bool          // some took longer than limit
}

const canceled = "57014"

// measure has all sessions make calls for so long, each at least one.
func (c *crowd) measure(ctx context.Context, t target, d time.Duration) (sample, error) {
	if t.call.takes {
		if err := c.site.refill(ctx, t.queue, int(10000*d.Seconds())+100); err != nil {
			return sample{}, err
		}
	}
	took := make([][]time.Duration, clients)
	errs := make([]error, clients)
	var wg sync.WaitGroup
	began := time.Now()
	for i, m := range c.members {
		wg.Go(func() {
			for from, first := began, true; first || from.Sub(began) < d; first = false {
				rows, err := m.run(ctx, t)
				now := time.Now()
				var report *pgconn.PgError
				switch {
				case errors.As(err, &report) && report.Code == canceled:
				case err != nil:
					errs[i] = err
					return
				case t.call.takes && rows == 0: // there are none any more
					return
				}
				took[i] = append(took[i], now.Sub(from))
				from = now
			}
		})
	}
	wg.Wait()
	elapsed := time.Since(began)
	if err := errors.Join(errs...); err != nil {
		return sample{}, fmt.Errorf("%s: %w", t.name(), err)
	}
	all := slices.Sorted(slices.Values(slices.Concat(took...)))
	if len(all) == 0 {
		return sample{}, fmt.Errorf("%s: no call in the time given", t.name())
	}
	return sample{
		rate:  float64(len(all)) / elapsed.Seconds(),
		p99:   all[min(len(all)*99/100, len(all)-1)],
		stuck: all[len(all)-1] >= limit,
	}, nil
}

// refill sees to it that a queue's default consumer can consume n messages.
func (s *site) refill(ctx context.Context, queue string, n int) error {
	have, err := rig.Query(ctx, s.direct, fmt.Sprintf(`select count(*) from (select from mbus4.message m where m.consumer_id = %s
		and m.available_at <= clock_timestamp() limit %d) m`, consumerOf(queue, "default"), n))
	if err != nil {
		return err
	}
	if there, err := strconv.Atoi(have); err != nil || there >= n {
		return err
	}
	return s.sql(ctx, messages(consumerOf(queue, "default"), n, one))
}
