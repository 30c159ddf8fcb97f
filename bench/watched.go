package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"time"

	"mbusproxy/bench/internal/rig"
)

const (
	watchedName = "watched"
	// Arms: two proxies that nobody looks at, one before the same server that is looked at, and one that traces besides.
	alonePath   = "proxy"
	otherPath   = "proxy, another" // as alonePath
	equalPath   = "both of these"  // the mean of the two that nobody looks at
	watchedPath = "proxy, watched"
	tracedPath  = "proxy, watched and traced"

	watchedClients = 8
	scrapeEach     = 5 * time.Second
	sessionsEach   = 2 * time.Second
)

func watchedCell(action, mode string) string {
	return fmt.Sprintf("%s/%s/%s/%d", watchedName, action, mode, watchedClients)
}

var watchedActions = []string{"select", "post", "consume"} //nolint:gochecknoglobals // constant

// watchedPaths are the proxies of an arm each.
type watchedPaths struct{ alone, other, watched, traced rig.Path }

// watchedCells compare what goes through a proxy with metrics, page and console in use, and through
// one with tracing as well, with what goes through two without.
func watchedCells(paths watchedPaths) []*cell {
	var cells []*cell
	for _, action := range watchedActions {
		for _, mode := range protocols {
			c := &cell{name: watchedCell(action, mode), mean: mean{equalPath, []string{alonePath, otherPath}}}
			work := &stock{side: side{name: alonePath, path: paths.alone.To(plain.ours.database), words: plain.ours}, posts: action == "post"}
			if action == "select" {
				work = nil
			}
			for _, x := range []struct {
				name string
				path rig.Path
			}{{alonePath, paths.alone}, {otherPath, paths.other}, {watchedPath, paths.watched}, {tracedPath, paths.traced}} {
				c.turns = append(c.turns, watchedTurn(action, mode, x.name, x.path, work))
			}
			cells = append(cells, c)
		}
	}
	return cells
}

func watchedTurn(action, mode, name string, path rig.Path, work *stock) turn {
	t := turn{name: name, path: path, clients: watchedClients, stock: work}
	switch action {
	case "select":
		t.say = selects(mode)
	case "post":
		t.path, t.say = path.To(plain.ours.database), always(mode, plain.ours.postOne())
	default:
		t.path, t.say = path.To(plain.ours.database), always(mode, plain.ours.consume(1))
	}
	return t
}

// watched starts three more proxies, two of them with all that lets them be looked at, looks at these
// all the time, and runs the cells.
func (b *bench) watched(ctx context.Context, dir string, r *report) (err error) {
	if len(b.wantedOf(watchedCells(watchedPaths{}))) == 0 {
		return nil
	}
	sink, _ := collector()
	defer sink.Close()
	watching, stop := context.WithCancel(ctx)
	defer stop()
	var looks sync.WaitGroup
	var paths [2]rig.Path
	var failed [4]error
	for i, flags := range [][]string{nil, {"--trace", sink.URL}} {
		web, err := rig.FreeAddress()
		if err != nil {
			return err
		}
		if paths[i], err = b.stack.AnotherProxy(ctx, b.tools, dir, append(flags, "--http", web, "--console-role", "postgres")...); err != nil {
			return err
		}
		looks.Go(func() {
			failed[2*i] = each(watching, scrapeEach, func() error { return scrape(watching, web) })
		})
		looks.Go(func() {
			failed[2*i+1] = each(watching, sessionsEach, func() error {
				_, err := rig.Exec(watching, paths[i].To("mbusproxy").DSN(), "show sessions")
				return err
			})
		})
	}
	other, err := b.stack.AnotherProxy(ctx, b.tools, dir)
	if err != nil {
		return err
	}
	for _, c := range b.wantedOf(watchedCells(watchedPaths{b.stack.Proxy, other, paths[0], paths[1]})) {
		r.cells = append(r.cells, b.run(ctx, c))
	}
	stop()
	looks.Wait()
	return errors.Join(append(failed[:], ctx.Err())...)
}

// each calls a function again and again until ctx ends, or the function fails before.
func each(ctx context.Context, pause time.Duration, f func() error) error {
	for {
		if err := f(); err != nil && ctx.Err() == nil {
			return err
		}
		select {
		case <-ctx.Done():
			return nil
		case <-time.After(pause):
		}
	}
}

// scrape reads the metrics at an address.
func scrape(ctx context.Context, address string) error {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+address+"/metrics", http.NoBody)
	if err != nil {
		return fmt.Errorf("scraping: %w", err)
	}
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		return fmt.Errorf("scraping: %w", err)
	}
	defer func() { _ = res.Body.Close() }()
	n, err := io.Copy(io.Discard, res.Body)
	if err == nil && (res.StatusCode != http.StatusOK || n == 0) {
		err = errors.New(res.Status + ", " + strconv.FormatInt(n, 10) + " bytes")
	}
	if err != nil {
		return fmt.Errorf("scraping: %w", err)
	}
	return nil
}

// watchedTable shows what being looked at costs.
func (r *report) watchedTable(b *strings.Builder) {
	rows := [][]string{{"What", "Protocol", "Clients", alonePath, otherPath, watchedPath, tracedPath, "watched / not", "traced / not", "another / proxy", "CPU µs, not", "CPU µs, watched", "CPU µs, traced"}}
	for _, c := range r.group(watchedName) {
		row := []string{c.part(1), c.part(2), c.part(3)}
		if c.err != nil {
			rows = append(rows, append(row, "**"+c.err.Error()+"**"))
			continue
		}
		rows = append(rows, append(row, c.shown(alonePath), c.shown(otherPath), c.shown(watchedPath), c.shown(tracedPath),
			rig.Spread(c.ratios(watchedPath, equalPath)), rig.Spread(c.ratios(tracedPath, equalPath)), rig.Spread(c.ratios(otherPath, alonePath)),
			fmt.Sprintf("%.1f", c.cpu(equalPath)), fmt.Sprintf("%.1f", c.cpu(watchedPath)), fmt.Sprintf("%.1f", c.cpu(tracedPath))))
	}
	section(b, "Being looked at", "Four proxies before one Postgres. Two have metrics, page and console; while the cells run they are scraped each five seconds, and `SHOW SESSIONS` is asked\n"+
		"each two. One of these traces all calls besides; the spans go to a collector that throws them away, on the same processors. The fourth is as the\n"+
		"first. The two that nobody looks at differ by chance; the others are compared with the mean of both, round by round.", 3, rows)
}
