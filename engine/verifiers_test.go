package engine

import (
	"context"
	"strings"
	"sync"
	"testing"

	"mbusproxy/engine/admin"
	"mbusproxy/engine/refusal"
)

func TestVerifiers(t *testing.T) {
	t.Parallel()
	admin := connect(t, "postgres")
	mustExec(t, admin, `create role verified login password 'secret'`)
	mustExec(t, admin, `create role "vérifié" login password 'secret'`)
	mustExec(t, admin, `create role unverified login`)
	t.Cleanup(func() {
		admin := connect(t, "postgres")
		mustExec(t, admin, `drop role verified, "vérifié", unverified`)
		admin.Close(context.Background(), admin)
	})
	e, err := Open(testContext(t), Options{AdminDSN: cluster.DSN("postgres")})
	if err != nil {
		t.Fatal(err)
	}
	defer e.Close()
	v := e.Verifiers()
	if !v.Readable(testContext(t)) {
		t.Fatal("the superuser may not read")
	}
	for _, role := range []string{"verified", "vérifié"} {
		got, err := v.Verifier(testContext(t), role)
		if err != nil || !strings.HasPrefix(got, "SCRAM-SHA-256$") {
			t.Errorf("%s: %q, %v", role, got, err)
		}
	}
	for _, role := range []string{"unverified", "nobody", "no\xffbody", "", strings.Repeat("x", 100), "'; select 1"} {
		if got, err := v.Verifier(testContext(t), role); got != "" || err != nil {
			t.Errorf("%q: %q, %v", role, got, err)
		}
	}

	// A connection that has died is replaced.
	mustExec(t, admin, "select pg_terminate_backend($1)", v.conn.PgConn().PID())
	if got, err := v.Verifier(testContext(t), "verified"); got == "" || err != nil {
		t.Errorf("after the end of the connection: %q, %v", got, err)
	}
	v.closeIdle()
	if v.conn != nil {
		t.Error("an idle connection stays open")
	}
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() {
			if got, err := v.Verifier(testContext(t), "verified"); got == "" || err != nil {
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
	if _, err := v.Verifier(testContext(t), "verified"); err == nil {
		t.Error("a lookup after Close")
	}
}

func TestVerifiersNeedRights(t *testing.T) {
	t.Parallel()
	database := newDatabase(t)
	admin := connect(t, database)
	mustExec(t, admin, `create role verifying login`)
	t.Cleanup(func() {
		admin := connect(t, database)
		mustExec(t, admin, `drop owned by verifying`)
		mustExec(t, admin, `drop role verifying`)
		admin.Close(context.Background(), admin)
	})
	e, err := Open(testContext(t), Options{AdminDSN: cluster.DSN(database) + " user=verifying"})
	if err != nil {
		t.Fatal(err)
	}
	defer e.Close()
	v := e.Verifiers()
	if v.Readable(testContext(t)) {
		t.Fatal("anybody may read")
	}
	mustExec(t, admin, "grant select (rolname, rolpassword) on pg_authid to verifying")
	if v.Readable(testContext(t)) {
		t.Error("a no is not remembered")
	}
	v.checked = v.checked.Add(-verifierRecheck)
	if !v.Readable(testContext(t)) {
		t.Error("a grant is not noticed")
	}
	if _, err := v.Verifier(testContext(t), "verifying"); err != nil {
		t.Error(err)
	}
	mustExec(t, admin, "revoke select (rolname, rolpassword) on pg_authid from verifying")
	if _, err := v.Verifier(testContext(t), "verifying"); refusal.SQLState(err) != refusal.LackingRights {
		t.Errorf("after revoke: %v", err)
	}
	if v.Readable(testContext(t)) {
		t.Error("a refusal is not noticed")
	}
}
