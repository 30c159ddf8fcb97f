package main

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"time"

	"mbusproxy/bench/internal/rig"
)

const (
	scrapingName   = "scraping"
	scrapingTarget = 0.01 // of a core of the server
	// mostQuiet is how long at most the server is watched without scrapes.
	mostQuiet = 10 * time.Minute
)

// scrapingResult is what scrapes cost the server.
type scrapingResult struct {
	before, during window // without scrapes, and with them
	scrapes        int
	err            error
}

// window is a time and the processor time of the server in it.
type window struct{ length, used time.Duration }

func (w window) share() float64 { return w.used.Seconds() / w.length.Seconds() }

// share is the part of a core that scrapes took.
func (r *scrapingResult) share() float64 { return r.during.share() - r.before.share() }

// scraping fills a database and has a proxy's metrics read again and again.
func (b *bench) scraping(ctx context.Context, dir string, r *report) (err error) {
	if !b.wanted(scrapingName) {
		return nil
	}
	fmt.Fprintf(b.say, "%-28s", scrapingName)
	defer fmt.Fprintln(b.say)
	web, err := rig.FreeAddress()
	if err != nil {
		return err
	}
	b.stack, err = rig.Start(ctx, b.tools, rig.Options{Dir: filepath.Join(dir, scrapingName), Databases: databases, Connections: 50, Flags: []string{"--http", web}})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, b.stack.Stop()) }()
	r.scraping = &scrapingResult{before: window{length: min(b.opt.scraping, mostQuiet)}, during: window{length: b.opt.scraping}}
	if r.scraping.err = b.measureScraping(ctx, web, r.scraping); r.scraping.err != nil {
		fmt.Fprintf(b.say, " FAILED: %v", r.scraping.err)
		return ctx.Err()
	}
	fmt.Fprintf(b.say, "  %.2f %% of a core (%v in %v with %d scrapes, %v in %v without)", 100*r.scraping.share(),
		r.scraping.during.used, r.scraping.during.length, r.scraping.scrapes, r.scraping.before.used, r.scraping.before.length)
	return nil
}

func (b *bench) measureScraping(ctx context.Context, web string, r *scrapingResult) error {
	if err := fillQueues(ctx, b.stack.Proxy); err != nil {
		return err
	}
	// Else the server does it some time later, in one of the periods.
	if _, err := rig.Exec(ctx, b.stack.Direct.DSN(), "vacuum (freeze, analyze) mbus4.message"); err != nil {
		return err
	}
	if _, err := rig.Exec(ctx, b.stack.Direct.DSN(), "checkpoint"); err != nil {
		return err
	}
	if err := scrape(ctx, web); err != nil { // so that the pages are in memory
		return err
	}
	measure := func(w *window, during func(context.Context) error) error {
		before, err := b.stack.ServerCPU()
		if err != nil {
			return err
		}
		period, stop := context.WithTimeout(ctx, w.length)
		defer stop()
		if err := during(period); err != nil {
			return err
		}
		<-period.Done()
		after, err := b.stack.ServerCPU()
		w.used = after - before
		return err
	}
	if err := measure(&r.before, func(context.Context) error { return nil }); err != nil {
		return err
	}
	return measure(&r.during, func(period context.Context) error {
		return each(period, scrapeEach, func() error {
			r.scrapes++
			return scrape(period, web)
		})
	})
}

func (r *report) scrapingTargets() []target {
	t := target{
		what:   fmt.Sprintf("processor of the server for a scrape every %v, %d queues with 10 million messages", scrapeEach, seeingQueues),
		wanted: fmt.Sprintf("less than %.0f %% of a core", 100*scrapingTarget), figure: "-", state: "not measured",
	}
	switch {
	case r.scraping == nil:
	case r.scraping.err != nil:
		t.state = "**INVALID**"
	default:
		t.figure, t.state = fmt.Sprintf("%.2f %% over %v", 100*r.scraping.share(), r.scraping.during.length), verdict(r.scraping.share() < scrapingTarget)
	}
	return []target{t}
}
