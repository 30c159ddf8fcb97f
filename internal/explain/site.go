package explain

import (
	"context"
	"fmt"

	"go.uber.org/zap"

	"mbusproxy/engine/admin"
	"mbusproxy/engine/calls"
	"mbusproxy/engine/schema"
	"mbusproxy/rewrite/parse"
	"mbusproxy/selector"
)

// site is the database for which a text is explained.
type site struct {
	calls.Site
	database  string // "": none
	selectors selector.Env
}

// String describes what the SQL depends on.
func (s site) String() string {
	has := "without"
	if s.Ordered {
		has = "with"
	}
	text := has + " messages that wait for others"
	if s.database == "" {
		return "for a database " + text + "; --admin names one to look at"
	}
	return fmt.Sprintf("for database %s: %s", s.database, text)
}

// siteFor looks at the database that a DSN names, in a session that may change nothing; "" is an empty one.
func siteFor(ctx context.Context, dsn string, parser *parse.Parser) (site, error) {
	if dsn == "" {
		return site{selectors: selector.Env{HstoreSchema: "public"}}, nil
	}
	server, err := admin.Parse(dsn)
	if err != nil {
		return site{}, err
	}
	conn, err := server.Connect(ctx, server.Database())
	if err != nil {
		return site{}, err
	}
	defer admin.Close(ctx, conn)
	if _, err := conn.Exec(ctx, "set default_transaction_read_only = on"); err != nil {
		return site{}, fmt.Errorf("opening a read-only session: %w", err)
	}
	in, _, err := schema.Prepare(ctx, conn, schema.Options{NoInit: true, Parser: parser}, zap.NewNop())
	if err != nil {
		return site{}, fmt.Errorf("looking at schema mbus4: %w", err)
	}
	s := site{database: in.Database(), selectors: in.Env()}
	if err := conn.QueryRow(ctx, "select exists (select from mbus4.waiting)").Scan(&s.Ordered); err != nil {
		return site{}, fmt.Errorf("looking for messages that wait for others: %w", err)
	}
	return s, nil
}
