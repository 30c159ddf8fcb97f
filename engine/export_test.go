package engine

import (
	"context"
	"fmt"
	"os"

	"github.com/jackc/pgx/v5"

	"mbusproxy/engine/admin"
)

// TemporaryDSN makes a database for an example and gives its DSN; remove drops it.
func TemporaryDSN() (dsn string, remove func()) {
	ctx := context.Background()
	name := fmt.Sprintf("example_%d_%d", os.Getpid(), databases.Add(1))
	run := func(sql string) {
		err := execAsAdmin(ctx, sql)
		if err != nil {
			panic(err)
		}
	}
	run("create database " + name)
	return cluster.DSN(name), func() { run("drop database " + name + " with (force)") }
}

func execAsAdmin(ctx context.Context, sql string) error {
	conn, err := pgx.Connect(ctx, cluster.DSN("postgres"))
	if err != nil {
		return err
	}
	defer admin.Close(ctx, conn)
	_, err = conn.Exec(ctx, sql)
	return err
}
