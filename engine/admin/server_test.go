package admin_test

import (
	"context"
	"slices"
	"strings"
	"testing"

	"mbusproxy/engine/admin"
	"mbusproxy/engine/internal/enginetest"
	"mbusproxy/engine/refusal"
)

// Any role may notify: of what it sends a bounded part is kept, and what stands for the rest.
func TestNotificationsAreNotKept(t *testing.T) {
	t.Parallel()
	name := enginetest.Installed(t)
	conn, err := enginetest.Server(t).Connect(enginetest.Context(t), name)
	if err != nil {
		t.Fatal(err)
	}
	defer admin.Close(context.Background(), conn)
	enginetest.Exec(t, conn, "listen anything")
	hostile := enginetest.ConnectTo(t, enginetest.DSNAs(t, name, enginetest.NewRole(t, name)))
	enginetest.Exec(t, hostile, "select pg_notify('anything', n::text) from generate_series(1, 1000) n")
	enginetest.Exec(t, hostile, "select pg_notify('anything', repeat('x', 7999))")
	n, err := conn.WaitForNotification(enginetest.Context(t)) // the wait ends all the same
	if err != nil {
		t.Fatal(err)
	}
	if n != nil {
		t.Errorf("kept %+v", n)
	}
	// What is beyond 64, and that of 7,999 bytes, which comes last, stand as an empty one among those kept.
	for {
		payloads := admin.Told(conn)
		if bytes := len(strings.Join(payloads, "")); len(payloads) > 64 || bytes > 64*32 {
			t.Fatalf("%d payloads are kept, of %d bytes", len(payloads), bytes)
		}
		if slices.Contains(payloads, "") {
			break
		}
		if _, err := conn.WaitForNotification(enginetest.Context(t)); err != nil {
			t.Fatal(err)
		}
	}
}

// Where a service and a client's DDL wait for one another it is the service that gives up. The client began
// to wait first, so the server would choose the client.
func TestServicesGiveWay(t *testing.T) {
	t.Parallel()
	name := enginetest.Installed(t)
	client, service, watch := enginetest.Connect(t, name), enginetest.Connect(t, name), enginetest.Connect(t, name)
	if err := admin.Settle(enginetest.Context(t), service, admin.ServiceLockWait); err != nil {
		t.Fatal(err)
	}
	enginetest.Exec(t, service, "begin; lock mbus4.message in access share mode")
	enginetest.Exec(t, client, "begin; lock mbus4.consumer")
	dropped := make(chan error, 1)
	go func() {
		_, err := client.Exec(enginetest.Context(t), "drop schema mbus4 cascade")
		dropped <- err
	}()
	enginetest.Eventually(t, "the client waits", func() bool {
		return enginetest.One[bool](t, watch, "select exists (select from pg_locks where not granted and pid = $1)", client.PgConn().PID())
	})
	_, err := service.Exec(enginetest.Context(t), "select from mbus4.consumer")
	if refusal.SQLState(err) != refusal.LockNotAvailable {
		t.Errorf("the service got %v", err)
	}
	enginetest.Exec(t, service, "rollback")
	if err := <-dropped; err != nil {
		t.Errorf("the client got %v", err)
	}
}
