package engine

import (
	"context"
	"strings"
	"sync"
	"testing"

	"mbusproxy/engine/admin"
	"mbusproxy/engine/internal/enginetest"
	"mbusproxy/engine/refusal"
)

func TestVerifiers(t *testing.T) {
	t.Parallel()
	superuser := enginetest.Connect(t, "postgres")
	enginetest.Exec(t, superuser, `create role verified login password 'secret'`)
	enginetest.Exec(t, superuser, `create role "vérifié" login password 'secret'`)
	enginetest.Exec(t, superuser, `create role unverified login`)
	t.Cleanup(func() {
		superuser := enginetest.Connect(t, "postgres")
		enginetest.Exec(t, superuser, `drop role verified, "vérifié", unverified`)
		admin.Close(context.Background(), superuser)
	})
	e, err := Open(enginetest.Context(t), Options{AdminDSN: enginetest.DSN("postgres")})
	if err != nil {
		t.Fatal(err)
	}
	defer e.Close()
	v := e.Verifiers()
	if !v.Readable(enginetest.Context(t)) {
		t.Fatal("the superuser may not read")
	}
	for _, role := range []string{"verified", "vérifié"} {
		got, err := v.Verifier(enginetest.Context(t), role)
		if err != nil || !strings.HasPrefix(got, "SCRAM-SHA-256$") {
			t.Errorf("%s: %q, %v", role, got, err)
		}
	}
	for _, role := range []string{"unverified", "nobody", "no\xffbody", "", strings.Repeat("x", 100), "'; select 1"} {
		if got, err := v.Verifier(enginetest.Context(t), role); got != "" || err != nil {
			t.Errorf("%q: %q, %v", role, got, err)
		}
	}

	// A connection that has died is replaced.
	enginetest.Exec(t, superuser, "select pg_terminate_backend($1)", v.conn.PgConn().PID())
	if got, err := v.Verifier(enginetest.Context(t), "verified"); got == "" || err != nil {
		t.Errorf("after the end of the connection: %q, %v", got, err)
	}
	v.closeIdle()
	if v.conn != nil {
		t.Error("an idle connection stays open")
	}
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() {
			if got, err := v.Verifier(enginetest.Context(t), "verified"); got == "" || err != nil {
				t.Errorf("%q, %v", got, err)
			}
		})
	}
	all.Wait()
	gone, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := v.Verifier(gone, "verified"); err == nil {
		t.Error("a lookup outlives its context")
	}
	e.Close()
	if _, err := v.Verifier(enginetest.Context(t), "verified"); err == nil {
		t.Error("a lookup after Close")
	}
}

func TestVerifiersNeedRights(t *testing.T) {
	t.Parallel()
	database := enginetest.NewDatabase(t)
	superuser := enginetest.Connect(t, database)
	enginetest.Exec(t, superuser, `create role verifying login`)
	t.Cleanup(func() {
		superuser := enginetest.Connect(t, database)
		enginetest.Exec(t, superuser, `drop owned by verifying`)
		enginetest.Exec(t, superuser, `drop role verifying`)
		admin.Close(context.Background(), superuser)
	})
	e, err := Open(enginetest.Context(t), Options{AdminDSN: enginetest.DSN(database) + " user=verifying"})
	if err != nil {
		t.Fatal(err)
	}
	defer e.Close()
	v := e.Verifiers()
	if v.Readable(enginetest.Context(t)) {
		t.Fatal("anybody may read")
	}
	enginetest.Exec(t, superuser, "grant select (rolname, rolpassword) on pg_authid to verifying")
	if v.Readable(enginetest.Context(t)) {
		t.Error("a no is not remembered")
	}
	v.checked = v.checked.Add(-verifierRecheck)
	if !v.Readable(enginetest.Context(t)) {
		t.Error("a grant is not noticed")
	}
	if _, err := v.Verifier(enginetest.Context(t), "verifying"); err != nil {
		t.Error(err)
	}
	enginetest.Exec(t, superuser, "revoke select (rolname, rolpassword) on pg_authid from verifying")
	if _, err := v.Verifier(enginetest.Context(t), "verifying"); refusal.SQLState(err) != refusal.LackingRights {
		t.Errorf("after revoke: %v", err)
	}
	if v.Readable(enginetest.Context(t)) {
		t.Error("a refusal is not noticed")
	}
}
