package semaphore_test

import (
	"context"
	"fmt"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"mbusproxy/engine"
	"mbusproxy/engine/internal/enginetest"
	"mbusproxy/engine/semaphore"
)

// Two tasks may run at once; then a better one comes.
func ExampleSemaphores() {
	ctx, stop := context.WithCancel(context.Background())
	must := func(err error) {
		if err != nil {
			panic(err)
		}
	}
	dsn, remove := enginetest.TemporaryDSN()
	defer remove()

	// Somebody must grant the slots. A running mbusproxy does; here the program does so itself.
	granting, err := engine.Open(ctx, engine.Options{AdminDSN: dsn})
	must(err)
	defer granting.Close()
	pool, err := pgxpool.New(ctx, dsn)
	must(err)
	defer pool.Close()
	_, err = granting.Database(ctx, pool.Config().ConnConfig.Database)
	must(err)

	semaphores := semaphore.New(pool)
	_, err = semaphores.GetOrCreate(ctx, "labelling")
	must(err)
	must(semaphores.Update(ctx, "labelling", 2, 1)) // two slots, and one task may be asked to leave
	events, err := semaphores.Subscribe(ctx, "labelling_app", "labelling")
	must(err)

	must(pgx.BeginFunc(ctx, pool, func(tx pgx.Tx) error { // all or none
		for task, priority := range map[int64]float64{1: 10, 2: 5, 3: 1} {
			if err := semaphore.New(tx).Enqueue(ctx, "labelling", task, priority); err != nil {
				return err
			}
		}
		return nil
	}))

	err = events.Run(ctx, func(ctx context.Context, tx pgx.Tx, e semaphore.Event) error {
		fmt.Println(e.Kind, e.TaskID)
		inTx := semaphore.New(tx)
		switch {
		case e.Kind == semaphore.Acquired && e.TaskID == 2:
			return inTx.Enqueue(ctx, "labelling", 4, 20) // better than both
		case e.Kind == semaphore.TryRelease:
			return inTx.Release(ctx, "labelling", e.TaskID)
		case e.Kind == semaphore.Acquired && e.TaskID == 4:
			stop()
		}
		return nil
	})
	must(err)
	must(events.Drop(context.Background()))
	// Output:
	// Acquired 1
	// Acquired 2
	// TryRelease 2
	// Acquired 4
}
