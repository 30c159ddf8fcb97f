package main

import (
	"context"
	"errors"
	"os"
	"os/signal"
	"syscall"
)

// untilSignal returns a context that ends at the first SIGINT or SIGTERM. At the second one it calls
// atOnce and ends the program. The function returned takes the handler away again.
func untilSignal(atOnce func()) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancel(context.Background())
	got := make(chan os.Signal, 2)
	signal.Notify(got, os.Interrupt, syscall.SIGTERM)
	gone := make(chan struct{})
	go func() {
		for n := 0; ; n++ {
			select {
			case <-gone:
				return
			case <-got:
			}
			if n > 0 {
				atOnce()
				os.Exit(exitFailure)
			}
			cancel()
		}
	}()
	return ctx, func() {
		signal.Stop(got)
		close(gone)
		cancel()
	}
}

// unlessTold drops the error of a start that was broken off because a signal ended ctx.
func unlessTold(ctx context.Context, err error) error {
	if ctx.Err() != nil && errors.Is(err, context.Canceled) {
		return nil
	}
	return err
}
