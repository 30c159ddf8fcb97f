package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"sync/atomic"

	"mbusproxy/bench/internal/rig"
)

const (
	tracingName    = "tracing"
	tracingClients = 8
	// Arms of tracing.
	tracingOff   = "tracing off"
	tracingOn    = "tracing on"
	tracingAgain = "tracing off, another" // as tracingOff: what the ratio of equal proxies is
)

// tracingModes are how a post with a comment that is another each time comes.
var tracingModes = []string{simpleMode, "extended"} //nolint:gochecknoglobals // constant

func tracingCell(mode string) string {
	return fmt.Sprintf("%s/%s/%d", tracingName, mode, tracingClients)
}

// tracedCell compares posts through these proxies.
func tracedCell(mode string, off, on, again rig.Path) *cell {
	c := &cell{name: tracingCell(mode)}
	work := &stock{side: side{name: tracingOff, path: off, words: plain.ours}, posts: true}
	for _, x := range []struct {
		name string
		path rig.Path
	}{{tracingOff, off}, {tracingOn, on}, {tracingAgain, again}} {
		c.turns = append(c.turns, turn{name: x.name, path: x.path, clients: tracingClients, say: tracedPosts(mode), stock: work, cpu: true})
	}
	return c
}

// tracing compares posts through two proxies before one server, one of which exports a span for
// each to a collector on this machine. Each post has a comment with a context of its own.
func (b *bench) tracing(ctx context.Context, dir string, r *report) (err error) {
	var wanted []string
	for _, mode := range tracingModes {
		if b.wanted(tracingCell(mode)) {
			wanted = append(wanted, mode)
		}
	}
	if len(wanted) == 0 {
		return nil
	}
	sink, exported := collector()
	defer sink.Close()
	dir = filepath.Join(dir, tracingName)
	b.stack, err = rig.Start(ctx, b.tools, rig.Options{Dir: dir, Databases: databases, Connections: 100})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, b.stack.Stop()) }()
	on, err := b.stack.AnotherProxy(ctx, b.tools, dir, "--trace", sink.URL)
	if err != nil {
		return err
	}
	again, err := b.stack.AnotherProxy(ctx, b.tools, dir)
	if err != nil {
		return err
	}
	off := b.stack.Proxy
	if _, err := rig.Exec(ctx, off.DSN(), "select mbus4.create_queue('"+queueName+"', 1)"); err != nil {
		return err
	}
	for _, mode := range wanted {
		c := tracedCell(mode, off, on, again)
		before := exported.Load()
		result := b.run(ctx, c)
		if result.err == nil && exported.Load() == before {
			result.err = errors.New("the collector got nothing")
		}
		r.cells = append(r.cells, result)
		if ctx.Err() != nil {
			return ctx.Err()
		}
	}
	return nil
}

// collector takes spans, throws them away, and counts their bytes.
func collector() (sink *httptest.Server, exported *atomic.Int64) {
	exported = new(atomic.Int64)
	return httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		n, _ := io.Copy(io.Discard, r.Body)
		exported.Add(n)
	})), exported
}

// tracedPosts posts with a comment that is another each time.
func tracedPosts(mode string) conversation {
	return func(s *session) (func() error, error) {
		return func() error {
			sql := fmt.Sprintf("%s /*application='bench',traceparent='00-%016x%016x-%016x-01'*/", plain.ours.postOne(), rand.Uint64()|1, rand.Uint64(), rand.Uint64()|1)
			q := request{s: s, mode: mode, sql: sql}
			return q.run()
		}, nil
	}
}

func bothCPU(s sample) float64 { return s.cpu + s.server }

func serverCPU(s sample) float64 { return s.server }

// tracingTable shows what tracing costs.
func (r *report) tracingTable(b *strings.Builder) {
	rows := [][]string{{"Protocol", "Clients", tracingOff, tracingOn, "on / off", "CPU µs, off", "CPU µs, on", "CPU µs of the server, off", "CPU µs of the server, on", "CPU of both, on / off", "the same of " + tracingAgain}}
	for _, c := range r.group(tracingName) {
		row := []string{c.part(1), c.part(2)}
		if c.err != nil {
			rows = append(rows, append(row, "**"+c.err.Error()+"**"))
			continue
		}
		rows = append(rows, append(row, c.shown(tracingOff), c.shown(tracingOn), rig.Spread(c.ratios(tracingOn, tracingOff)),
			fmt.Sprintf("%.1f", c.cpu(tracingOff)), fmt.Sprintf("%.1f", c.cpu(tracingOn)),
			fmt.Sprintf("%.1f", rig.Median(c.each(tracingOff, serverCPU))), fmt.Sprintf("%.1f", rig.Median(c.each(tracingOn, serverCPU))),
			rig.Spread(c.ratiosOf(tracingOn, tracingOff, bothCPU)), rig.Spread(c.ratiosOf(tracingAgain, tracingOff, bothCPU))))
	}
	section(b, "Tracing", "Posts, one at a time, each with the context of another trace in its comment, through two proxies before one Postgres. One of them\n"+
		"exports a span for each to a collector that reads and throws away; client and collector are one process.", 2, rows)
}
