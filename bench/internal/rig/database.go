package rig

import (
	"context"
	"fmt"
	"strconv"
	"time"

	"github.com/jackc/pgx/v5/pgconn"
)

// Exec runs a text of statements on a connection of its own and gives the first column of the
// last row that any of them returned, "" for none.
func Exec(ctx context.Context, dsn, sql string) (string, error) {
	conn, err := pgconn.Connect(ctx, dsn)
	if err != nil {
		return "", fmt.Errorf("connecting: %w", err)
	}
	defer CloseConn(conn)
	return Query(ctx, conn, sql)
}

// Query is Exec on a connection.
func Query(ctx context.Context, conn *pgconn.PgConn, sql string) (string, error) {
	results, err := conn.Exec(ctx, sql).ReadAll()
	if err != nil {
		return "", fmt.Errorf("running %.60q: %w", sql, err)
	}
	last := ""
	for _, r := range results {
		if n := len(r.Rows); n > 0 && len(r.Rows[n-1]) > 0 {
			last = string(r.Rows[n-1][0])
		}
	}
	return last, nil
}

// Count runs a query for one whole number.
func Count(ctx context.Context, dsn, sql string) (int64, error) {
	text, err := Exec(ctx, dsn, sql)
	if err != nil {
		return 0, err
	}
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil {
		return 0, fmt.Errorf("counting: %w", err)
	}
	return n, nil
}

// Hijack opens a connection that pgconn has let go of.
func Hijack(ctx context.Context, dsn string) (*pgconn.HijackedConn, error) {
	conn, err := pgconn.Connect(ctx, dsn)
	if err != nil {
		return nil, err
	}
	if err := conn.SyncConn(ctx); err != nil { // else pgconn may still be reading
		CloseConn(conn)
		return nil, err
	}
	return conn.Hijack()
}

// CloseConn closes a connection politely, and does not wait long.
func CloseConn(conn *pgconn.PgConn) {
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	_ = conn.Close(ctx)
}

// OpenSnapshot begins a transaction that keeps seeing what there is now.
func OpenSnapshot(ctx context.Context, p Path) (*pgconn.PgConn, error) {
	conn, err := pgconn.Connect(ctx, p.DSN())
	if err != nil {
		return nil, fmt.Errorf("holding a snapshot: %w", err)
	}
	if _, err := Query(ctx, conn, "begin isolation level repeatable read; select count(*) from pg_class"); err != nil {
		CloseConn(conn)
		return nil, err
	}
	return conn, nil
}
