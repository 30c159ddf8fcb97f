// Go is a worker with pgx: it waits for orders, works, and acknowledges them. It ends on SIGTERM.
//
//	go run ./examples/worker/go 'host=127.0.0.1 port=6432 user=app dbname=app'
package main

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"syscall"

	"github.com/jackc/pgx/v5"
)

// order is the data of a message.
type order struct {
	Lease string
	N     int
}

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM, os.Interrupt)
	defer stop()
	for ctx.Err() == nil { // a context that ends closes the connection, and with it the wait
		if err := run(ctx); err != nil && ctx.Err() == nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
	}
}

func run(ctx context.Context) error {
	conn, err := pgx.Connect(ctx, os.Args[1])
	if err != nil {
		return err
	}
	defer func() { _ = conn.Close(context.WithoutCancel(ctx)) }()
	for {
		rows, err := conn.Query(ctx, `select lease, (data->'n')::int as n from mbus4.lease('orders', lease => '1 min', wait => '30s')`)
		if err != nil {
			return err
		}
		orders, err := pgx.CollectRows(rows, pgx.RowToStructByName[order])
		if err != nil {
			return err
		}
		for _, o := range orders {
			// Work that has begun is finished, whatever signal comes.
			if err := settle(context.WithoutCancel(ctx), conn, o); err != nil {
				return err
			}
		}
	}
}

// settle does the work, and acknowledges the lease or gives the message back.
func settle(ctx context.Context, conn *pgx.Conn, o order) error {
	if err := work(ctx, conn, o); err != nil {
		_, err = conn.Exec(ctx, `select mbus4.retry($1::text, $2)`, o.Lease, err.Error()) // comes again later, as the consumer's policy says
		return err
	}
	_, err := conn.Exec(ctx, `select mbus4.ack($1)`, o.Lease)
	return err
}

// work is where your work goes. An error sends the message back.
func work(ctx context.Context, conn *pgx.Conn, o order) error {
	_, err := conn.Exec(ctx, `insert into done (worker, n) values ('pgx', $1)`, o.N)
	return err
}
