package semaphores

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"regexp"
	"strings"
	"sync"
	"time"

	"github.com/jackc/pgx/v5/pgconn"

	"mbusproxy/bench/internal/rig"
)

// timeMany has many semaphores in motion, and then lets them rest.
func (b *Bench) timeMany(ctx context.Context, r *Result) error {
	g, err := b.grantTimer(ctx)
	if err != nil {
		return err
	}
	defer g.close()
	running := "select count(*) = %d from mbus4.semaphore_task t join mbus4.semaphore s on -t.semaphore_id = -s.id where s.key like 'm%%' and t.status = 'ACQUIRED'"
	all := fmt.Sprintf(running, manySemaphores)
	for _, text := range []string{
		fmt.Sprintf("select (mbus4.semaphore_get_or_create('m' || n)).id from generate_series(1, %d) n", manySemaphores),
		fmt.Sprintf("select mbus4.semaphore_update('m' || n, 1, 1) from generate_series(1, %d) n", manySemaphores),
		fmt.Sprintf("select mbus4.semaphore_enqueue('m' || (n %% %[1]d + 1), n, 0) from generate_series(1, 4 * %[1]d) n", manySemaphores),
	} {
		if _, err := rig.Query(ctx, g.client, text); err != nil {
			return err
		}
	}
	if _, err := until(ctx, time.Now(), g.direct, all); err != nil {
		return err
	}
	release := "select mbus4.semaphore_release(s.key, t.task_id) from mbus4.semaphore_task t join mbus4.semaphore s on s.id = t.semaphore_id where t.status = 'ACQUIRED'"
	if _, err := rig.Query(ctx, g.client, release); err != nil {
		return err
	}
	if r.burst, err = until(ctx, time.Now(), g.direct, all); err != nil {
		return err
	}
	if err := b.moveMany(ctx, r); err != nil {
		return err
	}
	return b.readPasses(ctx, r)
}

// moveMany has clients move all semaphores: each releases a slot, waits until the event of the next
// one's grant has been consumed, and goes on with another semaphore.
func (b *Bench) moveMany(ctx context.Context, r *Result) (err error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	events, err := b.followEvents(ctx)
	if err != nil {
		return err
	}
	var wg sync.WaitGroup
	var mu sync.Mutex
	var errs []error
	began := time.Now()
	for client := range manyClients {
		wg.Go(func() {
			times, err := b.moveSome(ctx, client, events, began.Add(time.Duration(b.Seconds*b.Rounds)*time.Second))
			mu.Lock()
			defer mu.Unlock()
			r.many = append(r.many, times...)
			errs = append(errs, err)
		})
	}
	wg.Wait()
	r.rate = float64(len(r.many)) / time.Since(began).Seconds()
	cancel()
	<-events.ended
	return errors.Join(errs...)
}

// grantEvents are the events of grants as a worker gets them that waits for them.
type grantEvents struct {
	granted map[string]chan string // by semaphore: the task that has got the slot
	ended   chan struct{}
}

// followEvents finds out which tasks run now, and consumes the events of grants until ctx ends.
func (b *Bench) followEvents(ctx context.Context) (*grantEvents, error) {
	g, err := b.grantTimer(ctx)
	if err != nil {
		return nil, err
	}
	if err := g.drain(ctx); err != nil {
		g.close()
		return nil, err
	}
	running, err := g.direct.Exec(ctx, "select s.key, t.task_id from mbus4.semaphore_task t join mbus4.semaphore s on s.id = t.semaphore_id where s.key like 'm%' and t.status = 'ACQUIRED'").ReadAll()
	if err != nil {
		g.close()
		return nil, fmt.Errorf("reading running tasks: %w", err)
	}
	const text = "select data->'semaphore_key', data->'task_id' from mbus4.consumen('semaphore_events', amt => 100, wait => '1min') where data->'event' = 'Acquired'"
	if _, err := g.client.Prepare(ctx, "events", text, nil); err != nil {
		g.close()
		return nil, fmt.Errorf("preparing: %w", err)
	}
	e := &grantEvents{granted: map[string]chan string{}, ended: make(chan struct{})}
	for _, row := range running[0].Rows {
		c := make(chan string, 1)
		c <- string(row[1])
		e.granted[string(row[0])] = c
	}
	go func() {
		defer close(e.ended)
		defer g.close()
		for ctx.Err() == nil {
			res := g.client.ExecPrepared(ctx, "events", nil, nil, nil).Read()
			if res.Err != nil {
				return // the clients that wait say so when ctx ends
			}
			for _, row := range res.Rows {
				e.granted[string(row[0])] <- string(row[1])
			}
		}
	}()
	return e, nil
}

// moveSome moves the semaphores that are one client's.
func (b *Bench) moveSome(ctx context.Context, client int, events *grantEvents, until time.Time) ([]time.Duration, error) {
	ctx, cancel := context.WithTimeout(ctx, time.Until(until)+time.Minute)
	defer cancel()
	conn, err := pgconn.Connect(ctx, b.stack.Proxy.DSN())
	if err != nil {
		return nil, fmt.Errorf("timing grants: %w", err)
	}
	defer rig.CloseConn(conn)
	for name, text := range map[string]string{"release": "select mbus4.semaphore_release($1, $2)", "enqueue": "select mbus4.semaphore_enqueue($1, $2, 0)"} {
		if _, err := conn.Prepare(ctx, name, text, nil); err != nil {
			return nil, fmt.Errorf("preparing: %w", err)
		}
	}
	var times []time.Duration
	for time.Now().Before(until) {
		key := fmt.Sprint("m", client+1+manyClients*rand.IntN(manySemaphores/manyClients))
		task := <-events.granted[key] // known since it got its slot
		batch := &pgconn.Batch{}
		for _, name := range []string{"release", "enqueue"} {
			batch.ExecPrepared(name, [][]byte{[]byte(key), []byte(task)}, nil, nil)
		}
		if _, err := conn.ExecBatch(ctx, batch).ReadAll(); err != nil {
			return times, fmt.Errorf("moving a semaphore: %w", err)
		}
		began := time.Now()
		select {
		case next := <-events.granted[key]:
			times = append(times, time.Since(began))
			events.granted[key] <- next
		case <-ctx.Done():
			return times, fmt.Errorf("waiting for a grant: %w", ctx.Err())
		}
	}
	return times, nil
}

var passLine = regexp.MustCompile(`semaphores passed over.*"number": (\d+), "took": ([0-9.e-]+)`)

// readPasses finds in the proxy's log what full passes over the idle semaphores took. The database is kept
// in use, but its semaphores rest.
func (b *Bench) readPasses(ctx context.Context, r *Result) error {
	old := len(passLine.FindAllString(b.stack.ProxyLog(), -1))
	deadline := time.Now().Add(passWait)
	for {
		if _, err := rig.Exec(ctx, b.stack.Proxy.DSN(), "select mbus4.is_msg_exists('x')"); err != nil {
			return err
		}
		lines := passLine.FindAllStringSubmatch(b.stack.ProxyLog(), -1)
		if len(lines) >= old+4 {
			for _, line := range lines[old+1:] { // the first may have begun among the moves
				seconds, err := time.ParseDuration(line[2] + "s")
				if err != nil {
					return fmt.Errorf("reading the proxy's log: %w", err)
				}
				if line[1] != fmt.Sprint(manySemaphores) {
					return fmt.Errorf("INVALID: a pass over %s semaphores", line[1])
				}
				r.pass = append(r.pass, seconds)
			}
			return nil
		}
		if time.Now().After(deadline) {
			return fmt.Errorf("INVALID: too few passes in the proxy's log:\n%s", lastLines(b.stack.ProxyLog()))
		}
		if err := rig.Rest(ctx, 500*time.Millisecond); err != nil {
			return err
		}
	}
}

func lastLines(text string) string {
	lines := strings.Split(text, "\n")
	return strings.Join(lines[max(0, len(lines)-10):], "\n")
}
