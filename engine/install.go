package engine

import (
	"cmp"
	"context"

	"github.com/jackc/pgx/v5"
	"go.uber.org/zap"

	"mbusproxy/engine/admin"
	"mbusproxy/engine/refusal"
	"mbusproxy/engine/schema"
	"mbusproxy/rewrite/parse"
)

// Init creates or upgrades the schema in the database dsn names. It waits for clients and for other
// programs as long as it takes. Where how has it keep consumers whose selectors are bad, the
// Result's Warnings name them.
func Init(ctx context.Context, dsn string, how schema.Options) (res schema.Result, err error) {
	err = withDatabase(ctx, dsn, func(conn *pgx.Conn) error {
		how.Parser = cmp.Or(how.Parser, parse.New())
		_, res, err = schema.Prepare(ctx, conn, how, zap.NewNop())
		return wrapped("installing schema mbus4", err)
	})
	return res, err
}

// InitSQL is the SQL that Init would run, for people to read or run. It changes nothing.
func InitSQL(ctx context.Context, dsn string) (sql string, err error) {
	err = withDatabase(ctx, dsn, func(conn *pgx.Conn) error {
		sql, err = schema.SQL(ctx, conn)
		return wrapped("looking at schema mbus4", err)
	})
	return sql, err
}

// Prune drops the functions that other versions of the program made in the database dsn names, and gives their number.
func Prune(ctx context.Context, dsn string) (dropped int, err error) {
	err = withDatabase(ctx, dsn, func(conn *pgx.Conn) error {
		dropped, err = schema.PruneFunctions(ctx, conn)
		return wrapped("cleaning up schema mbus4", err)
	})
	return dropped, err
}

// wrapped is err as a refusal, nil if it is nil.
func wrapped(doing string, err error) error {
	if err == nil {
		return nil
	}
	return refusal.Wrap(doing, err)
}

func withDatabase(ctx context.Context, dsn string, do func(*pgx.Conn) error) error {
	server, err := admin.Parse(dsn)
	if err != nil {
		return err
	}
	conn, err := server.Connect(ctx, server.Database())
	if err != nil {
		return err
	}
	defer admin.Close(ctx, conn)
	return do(conn)
}
