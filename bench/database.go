package main

import (
	"context"
	"fmt"
	"strconv"
	"time"

	"github.com/jackc/pgx/v5/pgconn"
)

// execSQL runs a text of statements on a connection of its own and gives the first column of the
// last row that any of them returned, "" for none.
func execSQL(ctx context.Context, dsn, sql string) (string, error) {
	conn, err := pgconn.Connect(ctx, dsn)
	if err != nil {
		return "", fmt.Errorf("connecting: %w", err)
	}
	defer closeConn(conn)
	return query(ctx, conn, sql)
}

func query(ctx context.Context, conn *pgconn.PgConn, sql string) (string, error) {
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

// count runs a query for one whole number.
func count(ctx context.Context, dsn, sql string) (int64, error) {
	text, err := execSQL(ctx, dsn, sql)
	if err != nil {
		return 0, err
	}
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil {
		return 0, fmt.Errorf("counting: %w", err)
	}
	return n, nil
}

func closeConn(conn *pgconn.PgConn) {
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	_ = conn.Close(ctx)
}
