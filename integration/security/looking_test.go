package security

import (
	"os/exec"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5/pgconn"

	"mbusproxy/integration/internal/harness"
)

// consoleRole makes a role whose members may use the console of a test's proxy.
func consoleRole(t *testing.T, members ...string) string {
	t.Helper()
	role := harness.NewRole(t)
	for _, m := range members {
		harness.Admin(t, "grant "+role+" to "+m)
	}
	return role
}

// run runs a command with the DSN of a role.
func run(t *testing.T, e harness.Endpoint, role, database, command string) (string, error) {
	t.Helper()
	out, err := exec.CommandContext(t.Context(), harness.Binary(), append(strings.Fields(command), "--dsn", asRole(e, role, database))...).CombinedOutput()
	return string(out), err
}

// In somebody else's database who may create schemas, with mbus4_user, with the extension hstore or with neither, gains as
// little as its owner does.
func TestLookingWhereOthersMayCreate(t *testing.T) {
	for _, kind := range harness.HostileMakers {
		t.Run(kind, func(t *testing.T) {
			h := harness.NewHostile(t, kind)
			user := harness.NewRole(t)
			harness.Admin(t, "grant mbus4_user to "+user)
			proxy := harness.NewProxy(t, "--console-role", consoleRole(t, user))
			for _, looker := range []string{h.Looker, user} {
				for _, command := range []string{"queues", "top", "peek --iid m9", "dead list", "dead redrive q --yes", "post q {}"} {
					if out, err := run(t, proxy.Endpoint, looker, h.Database, command); err == nil || !h.Found(out) {
						t.Errorf("%s as %s: %v\n%s", command, looker, err, out)
					}
					h.Check(t, command)
				}
				consoleFinds(t, h, proxy.Endpoint, looker)
			}
		})
	}
}

// Where the admin role is no superuser, its schema is trusted by users, and not by a superuser, whose rights it would have;
// a hostile schema is trusted by neither.
func TestLookingWithPlainAdmin(t *testing.T) {
	keeper, user, super := harness.NewRole(t), harness.NewRole(t), harness.NewRole(t)
	harness.Admin(t, "grant mbus4_user to "+user)
	harness.Admin(t, "alter role "+super+" superuser")
	database := harness.NewDatabase(t)
	harness.Admin(t, "grant create on database "+database+" to "+keeper)
	harness.Ask(t, harness.Connect(t, harness.Direct(), database), "create extension if not exists hstore")
	admin := asRole(harness.Direct(), keeper, database)
	if out, err := exec.CommandContext(t.Context(), harness.Binary(), "init", "--admin", admin).CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	proxy := harness.NewProxy(t, "--admin", admin, "--console-role", consoleRole(t, user))
	t.Run("its own", func(t *testing.T) {
		for looker, may := range map[string]bool{user: true, super: false} {
			console, err := pgconn.Connect(harness.Context(t), asRole(proxy.Endpoint, looker, "mbusproxy/"+database))
			if err != nil {
				t.Fatal(err)
			}
			defer harness.Close(console)
			_, err = console.Exec(harness.Context(t), "SHOW QUEUES").ReadAll()
			if may && err != nil || !may && (harness.SQLState(err) != "42501" || !strings.Contains(err.Error(), keeper)) {
				t.Errorf("console as %s: %v", looker, err)
			}
			if out, err := run(t, proxy.Endpoint, looker, database, "queues"); err == nil || !strings.Contains(out, keeper) {
				t.Errorf("queues as %s, without knowing the admin role: %v\n%s", looker, err, out)
			}
		}
		// The commands are not told who --admin is. Who administers mbus4_admin decides who may do anything there.
		harness.Admin(t, "grant mbus4_admin to "+keeper+" with admin option")
		for looker, may := range map[string]bool{user: true, super: false} {
			if out, err := run(t, proxy.Endpoint, looker, database, "queues"); may != (err == nil) || !may && !strings.Contains(out, keeper) {
				t.Errorf("queues as %s: %v\n%s", looker, err, out)
			}
		}
	})
	t.Run("a hostile one", func(t *testing.T) {
		h := harness.NewHostile(t, "owner")
		for _, looker := range []string{h.Looker, user} {
			for _, command := range []string{"queues", "top", "post q {}"} {
				if out, err := run(t, proxy.Endpoint, looker, h.Database, command); err == nil || !h.Found(out) {
					t.Errorf("%s as %s: %v\n%s", command, looker, err, out)
				}
				h.Check(t, command)
			}
			consoleFinds(t, h, proxy.Endpoint, looker)
		}
	})
}

// Whoever holds a right by which he could have something run is found in a schema that is otherwise as it should be: who may
// make triggers by those who act, who may create there by those who look as well.
func TestLookingWhereOthersHoldRights(t *testing.T) {
	other := harness.NewRole(t)
	database := harness.NewQueueDatabase(t, "q")
	direct := harness.Connect(t, harness.Direct(), database)
	found := func(command string, refused bool) {
		t.Helper()
		out, err := run(t, harness.Proxied(), "postgres", database, command)
		if refused != (err != nil) || refused && (!strings.Contains(out, "42501") || !strings.Contains(out, other)) {
			t.Errorf("%s: %v\n%s", command, err, out)
		}
	}
	found("post q {}", false)
	harness.Ask(t, direct, "grant trigger on mbus4.message to "+other)
	found("queues", false)
	found("post q {}", true)
	harness.Ask(t, direct, "revoke trigger on mbus4.message from "+other)
	for _, schema := range []string{"mbus4", "mbus4_hstore"} {
		harness.Ask(t, direct, "grant create on schema "+schema+" to "+other)
		found("queues", true)
		found("post q {}", true)
		harness.Ask(t, direct, "revoke create on schema "+schema+" from "+other)
	}
	for _, schema := range []string{"mbus4", "mbus4_hstore", "mbus4_views"} {
		harness.Ask(t, direct, "alter schema "+schema+" owner to "+other)
		found("queues", true)
		harness.Ask(t, direct, "alter schema "+schema+" owner to postgres")
	}
	found("post q {}", false)
}
