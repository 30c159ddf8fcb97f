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
)

// scrapingResult is what scrapes cost the server.
type scrapingResult struct {
	length  time.Duration
	used    time.Duration // processor time of the whole server meanwhile
	scrapes int
	err     error
}

// share is the part of a core that the server used, with all that it does by itself.
func (r *scrapingResult) share() float64 { return r.used.Seconds() / r.length.Seconds() }

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
	r.scraping = &scrapingResult{length: b.opt.scraping}
	if r.scraping.err = b.measureScraping(ctx, web, r.scraping); r.scraping.err != nil {
		fmt.Fprintf(b.say, " FAILED: %v", r.scraping.err)
		return ctx.Err()
	}
	fmt.Fprintf(b.say, "  %.2f %% of a core (%v in %v with %d scrapes)", 100*r.scraping.share(), r.scraping.used, r.scraping.length, r.scraping.scrapes)
	return nil
}

func (b *bench) measureScraping(ctx context.Context, web string, r *scrapingResult) error {
	if err := fillQueues(ctx, b.stack.Proxy); err != nil {
		return err
	}
	// Else the server does it some time later.
	if _, err := rig.Exec(ctx, b.stack.Direct.DSN(), "vacuum (freeze, analyze) mbus4.message"); err != nil {
		return err
	}
	if _, err := rig.Exec(ctx, b.stack.Direct.DSN(), "checkpoint"); err != nil {
		return err
	}
	if err := scrape(ctx, web); err != nil { // so that the pages are in memory
		return err
	}
	before, err := b.stack.ServerCPU()
	if err != nil {
		return err
	}
	period, stop := context.WithTimeout(ctx, r.length)
	defer stop()
	err = each(period, scrapeEach, func() error {
		r.scrapes++
		return scrape(period, web)
	})
	if err != nil {
		return err
	}
	after, err := b.stack.ServerCPU()
	r.used = after - before
	return err
}

func (r *report) scrapingTargets() []rig.Target {
	t := rig.Target{
		What:   fmt.Sprintf("processor of the whole server while the metrics are scraped every %v, %d queues with 10 million messages", scrapeEach, seeingQueues),
		Wanted: fmt.Sprintf("less than %.0f %% of a core", 100*scrapingTarget), Figure: "-", State: "not measured",
	}
	switch {
	case r.scraping == nil:
	case r.scraping.err != nil:
		t.State = "**INVALID**"
	default:
		t.Figure, t.State = fmt.Sprintf("%.2f %% over %v", 100*r.scraping.share(), r.scraping.length), rig.Verdict(r.scraping.share() < scrapingTarget)
	}
	return []rig.Target{t}
}
