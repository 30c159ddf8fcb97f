// Command saga books a tour through mbusproxy: five reservations with five web services, either all of
// them or none. docs/sagas.md explains how.
//
//	go run ./examples/saga -dsn postgres://postgres@127.0.0.1:6432/postgres -fail-at ticket-from
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/jackc/pgx/v5"

	"mbusproxy/examples/saga/tour"
)

// Exit statuses.
const (
	statusAsAsked = 0 // each tour ended booked, or cancelled where a step was to fail
	statusFailed  = 1
	statusUsage   = 2
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	status := run(ctx, os.Args[1:], os.Stdout, os.Stderr)
	stop()
	os.Exit(status)
}

// options are the flags.
type options struct {
	dsn      string
	failAt   tour.Step
	hangAt   tour.Step
	flaky    bool
	tours    int
	services []tour.Service
	timeout  time.Duration
}

func run(ctx context.Context, args []string, out, errOut io.Writer) int {
	opt, err := parse(args, errOut)
	switch {
	case errors.Is(err, flag.ErrHelp):
		return statusAsAsked
	case err != nil:
		return statusUsage
	}
	asAsked, err := book(ctx, opt, &printer{out: out, start: time.Now()})
	switch {
	case err != nil:
		fmt.Fprintln(errOut, "saga:", err)
		return statusFailed
	case !asAsked:
		return statusFailed
	}
	return statusAsAsked
}

func parse(args []string, errOut io.Writer) (options, error) {
	var opt options
	var names, failAt, hangAt string
	f := flag.NewFlagSet("saga", flag.ContinueOnError)
	f.SetOutput(errOut)
	steps := fmt.Sprint(tour.Steps())
	f.StringVar(&opt.dsn, "dsn", "postgres://postgres@127.0.0.1:6432/postgres", "where the proxy is")
	f.StringVar(&failAt, "fail-at", "", "`STEP` that is refused, one of "+steps)
	f.StringVar(&hangAt, "hang-at", "", "`STEP` that is booked but never answered; kill the program then, and see what another one does")
	f.BoolVar(&opt.flaky, "flaky", false, "each request to a web service fails the first time")
	f.IntVar(&opt.tours, "tours", 1, "how many tours to book at once; 0: only run services until interrupted")
	f.StringVar(&names, "services", "all", "`LIST` of services to run, separated by commas; empty: none")
	f.DurationVar(&opt.timeout, "timeout", 30*time.Second, "for all the tours")
	if err := f.Parse(args); err != nil {
		return opt, err
	}
	err := func() error {
		for _, s := range []string{failAt, hangAt} {
			if s != "" && !slices.Contains(tour.Steps(), tour.Step(s)) {
				return fmt.Errorf("there is no step %q; the steps are %s", s, steps)
			}
		}
		if f.NArg() > 0 {
			return fmt.Errorf("unexpected argument %q", f.Arg(0))
		}
		var err error
		opt.services, err = choose(names)
		return err
	}()
	if err != nil {
		fmt.Fprintln(errOut, "saga:", err)
	}
	opt.failAt, opt.hangAt = tour.Step(failAt), tour.Step(hangAt)
	return opt, err
}

// choose finds services by their names.
func choose(names string) ([]tour.Service, error) {
	switch names {
	case "all":
		return tour.Services(), nil
	case "":
		return nil, nil
	}
	var chosen []tour.Service
	for name := range strings.SplitSeq(names, ",") {
		i := slices.IndexFunc(tour.Services(), func(s tour.Service) bool { return s.Name == name })
		if i < 0 {
			var known []string
			for _, s := range tour.Services() {
				known = append(known, s.Name)
			}
			return nil, fmt.Errorf("there is no service %q; the services are %s", name, strings.Join(known, ", "))
		}
		chosen = append(chosen, tour.Services()[i])
	}
	return chosen, nil
}

// book runs the services and the tours, and tells whether all ended as asked.
func book(ctx context.Context, opt options, p *printer) (asAsked bool, err error) {
	conn, err := pgx.Connect(ctx, opt.dsn)
	if err != nil {
		return false, err
	}
	defer func() {
		closing, cancel := context.WithTimeout(context.Background(), 2*time.Second)
		defer cancel()
		_ = conn.Close(closing) // nothing depends on it any more
	}()
	if err := tour.Setup(ctx, conn); err != nil {
		return false, err
	}

	var services sync.WaitGroup
	serving, stop := context.WithCancel(ctx)
	end := func() {
		stop()
		services.Wait()
		p.flush(time.Now())
	}
	defer end()
	for _, s := range opt.services {
		services.Go(func() { s.Run(serving, tour.Config{DSN: opt.dsn, Mood: opt.mood, Watch: p.event}) })
	}
	if opt.tours == 0 {
		<-ctx.Done()
		return true, nil
	}

	ctx, cancel := context.WithTimeout(ctx, opt.timeout)
	defer cancel()
	var ids []int64
	for range opt.tours {
		id, err := tour.Start(ctx, conn, "Ada")
		if err != nil {
			return false, err
		}
		ids = append(ids, id)
	}
	asAsked = true
	var reports []tour.Report
	for _, id := range ids {
		r, err := tour.Await(ctx, conn, id)
		if err != nil {
			return false, err
		}
		reports = append(reports, r)
		asAsked = asAsked && r.State == opt.wanted() && len(r.Problems()) == 0
	}
	end() // the last of their lines come before the tables
	for _, r := range reports {
		p.report(r)
	}
	return asAsked, nil
}

// wanted is how a tour should end.
func (o options) wanted() tour.State {
	if o.failAt != "" {
		return tour.Cancelled
	}
	return tour.Booked
}

// mood is how the web services answer a request, by the flags.
func (o options) mood(r tour.Request) tour.Mood {
	fails := !r.Cancel && r.Step == o.failAt
	switch {
	case o.flaky && r.Attempt == 1 && (fails || r.Step == tour.Room || r.Step == tour.TransferTo):
		return tour.Busy
	case o.flaky && r.Attempt == 1:
		return tour.Silent // so it was booked, and will not be refused when asked for again
	case fails:
		return tour.Refuses
	case !r.Cancel && r.Step == o.hangAt:
		return tour.Hangs
	}
	return tour.Fine
}
