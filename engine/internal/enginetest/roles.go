package enginetest

import (
	"context"
	"fmt"
	"net/url"
	"testing"

	"github.com/jackc/pgx/v5"

	"mbusproxy/engine/admin"
	"mbusproxy/engine/schema"
)

// NewRole makes a login role that goes with the test; what it owns in the database goes too.
func NewRole(t *testing.T, database string) string {
	t.Helper()
	name := fmt.Sprintf("role_%s_%d", database, databases.Add(1))
	Exec(t, Connect(t, database), "create role "+name+" login")
	t.Cleanup(func() {
		conn := Connect(t, database)
		defer admin.Close(context.Background(), conn)
		Exec(t, conn, "drop owned by "+name+" cascade")
		Exec(t, conn, "drop role "+name)
	})
	return name
}

// PlainOwner makes a role that owns the schema and sees nobody else's activity.
func PlainOwner(t *testing.T, database string) (dsn string) {
	t.Helper()
	conn := Connect(t, database)
	role := "owner_of_" + database
	Exec(t, conn, "create role "+role+" login")
	t.Cleanup(func() {
		conn := Connect(t, database)
		Exec(t, conn, "reassign owned by "+role+" to postgres")
		Exec(t, conn, "drop owned by "+role)
		Exec(t, conn, "drop role "+role)
	})
	for _, what := range []string{
		"schema mbus4", "table mbus4.message", "table mbus4.consumer", "table mbus4.queue", "table mbus4.service", "table mbus4.view_insert", "table mbus4.work_queue",
		"sequence mbus4.message_id", "sequence mbus4.post_id", "sequence mbus4.hint_work",
	} {
		Exec(t, conn, "alter "+what+" owner to "+role)
	}
	for slot := range schema.HintSlots {
		Exec(t, conn, fmt.Sprintf("alter sequence mbus4.hint_%d owner to %s", slot, role))
	}
	return DSNAs(t, database, role)
}

// DSNAs names the cluster's database as another role.
func DSNAs(t *testing.T, database, role string) string {
	t.Helper()
	cfg, err := pgx.ParseConfig(DSN(database))
	if err != nil {
		t.Fatal(err)
	}
	u := url.URL{Scheme: "postgres", User: url.User(role), Host: fmt.Sprintf("%s:%d", cfg.Host, cfg.Port), Path: database}
	return u.String() + "?sslmode=disable"
}

// RoleOf is the role that a DSN names.
func RoleOf(t *testing.T, dsn string) string {
	t.Helper()
	cfg, err := pgx.ParseConfig(dsn)
	if err != nil {
		t.Fatal(err)
	}
	return cfg.User
}
