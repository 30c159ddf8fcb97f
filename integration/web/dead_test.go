package web

import (
	"context"
	"fmt"
	"os"
	"testing"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/chromedp"
	"github.com/jackc/pgx/v5/pgconn"

	"mbusproxy/integration/internal/harness"
)

// markup is what must be shown as it is, wherever it comes from.
const markup = `<img src=x onerror="alert(1)"><script>alert(2)</script>'"&lt;`

// die makes dead messages 1 to n of the queue orders.
func (s *site) die(t *testing.T, n int) {
	t.Helper()
	s.ask(t, fmt.Sprintf(`select count(mbus4.post('dmq', hstore('n', n::text), hstore(array['destination', 'orders', 'dmq.consumer', 'default', 'dmq.error', $1, 'retry.attempt', '3',
		'colour', case n %% 2 when 0 then 'red' else 'blue' end]))) from generate_series(1, %d) n`, n), markup)
}

// Somebody looks at what is dead, previews and redrives some of it by a selector, sees it done,
// undoes it, and finds all of it in the audit.
func TestDeadRedriveAndUndo(t *testing.T) {
	t.Parallel()
	s := newSite(t, "orders")
	s.die(t, 1200)
	b := newBrowser(t, desk)
	b.logIn(s.admin, password, s.database)
	b.press("Dead")
	b.has("50 messages on this page", markup, "orders · default")
	b.press("Next")
	b.has("50 messages on this page", "n=51")
	b.press("From the beginning")
	b.fill("#queue", "orders")
	b.fill("#selector", `t.headers->'colour' = 'red'`)
	b.press("Search")
	b.hasNot("n=1\n", "n=51")
	b.press("Redrive…")
	b.has("600 messages", "n=2", `t.headers->'colour' = 'red'`)
	b.press("Redrive them")
	b.has("Started. It pauses")
	b.await(`document.querySelector(".state").innerText == "done"`)
	if done := b.text("#done"); done != "600" {
		t.Errorf("%s are done", done)
	}
	harness.Want(t, s.direct, "600|600", "select count(*) filter (where consumer_id = 1), count(*) filter (where consumer_id <> 1) from mbus4.message")
	s.ask(t, "select count(*) from mbus4.consumen('orders', amt => 10)")
	b.press("Undo")
	b.await(`document.querySelector(".state").innerText == "done"`)
	b.has("590")
	harness.Want(t, s.direct, "1190|0", "select count(*) filter (where consumer_id = 1), count(*) filter (where consumer_id <> 1) from mbus4.message")
	b.press("Operations")
	b.has("1 redrive", "2 undo", "operation 1")
	b.press("Audit")
	b.has("begin redrive", "undo", s.admin, "mbusproxy page", `t.headers->'colour' = 'red'`)
}

// The number of dead messages in the overview leads to those of that queue.
func TestOverviewLeadsToTheDead(t *testing.T) {
	t.Parallel()
	s := newSite(t, "orders", "other")
	s.die(t, 3)
	s.ask(t, `select mbus4.post('dmq', 'n=>other', 'destination=>"other",dmq.consumer=>default')`)
	b := newBrowser(t, desk)
	b.logIn(s.user, password, s.database)
	b.has("orders", "other")
	b.press("3")
	b.has("Dead messages of orders", "3 messages", "n=1", "n=3")
	b.hasNot("n=other")
	b.open("")
	b.press("1")
	b.has("Dead messages of other", "1 message", "n=other")
	if asked := evaluate[string](b, `document.querySelector("#queue").value`); asked != "other" {
		t.Errorf("it asks for %q", asked)
	}
}

// A move and a purge, without a script: the page is asked for again until it is done.
func TestDeadMoveAndPurgeWithoutScript(t *testing.T) {
	t.Parallel()
	s := newSite(t, "orders", "later")
	s.die(t, 30)
	b := newBrowser(t, telephone)
	b.withoutScript()
	b.logIn(s.user, password, s.database)
	b.open("dead/preview?kind=move&selector=" + "t.headers-%3E%27colour%27%20%3D%20%27blue%27")
	b.fill("#target", "later")
	b.press("Move them")
	b.awaitReloaded("done")
	harness.Want(t, s.direct, "15", "select count(*) from mbus4.message m join mbus4.consumer c on c.id = m.consumer_id where c.qname = 'later'")
	b.open("dead/preview?kind=purge&queue=orders")
	b.has("15 messages", "cannot be undone")
	b.press("Purge them")
	b.awaitReloaded("done")
	b.hasNot("Undo")
	harness.Want(t, s.direct, "0", "select count(*) from mbus4.message where consumer_id = 1")
	// What members of mbus4_user do they do not see in the audit.
	b.open("audit")
	b.has("Your role may not read the audit log")
}

// An operation pauses with the log-in and goes on with the next; nobody else sees it.
func TestDeadPausesWithTheLogIn(t *testing.T) {
	t.Parallel()
	s := newSite(t, "orders")
	s.die(t, 1100)
	// Somebody is about to post under the iid of one of the second batch: there the operation
	// waits, in the middle of a batch.
	s.ask(t, "delete from mbus4.message where consumer_id = 1 and data->'n' = '700'")
	s.ask(t, "select mbus4.post('dmq', 'n=>700', 'destination=>orders', iid => 'mine')")
	s.ask(t, "begin; select mbus4.post('orders', 'n=>0', iid => 'mine')")
	b := newBrowser(t, desk)
	b.logIn(s.user, password, s.database)
	b.open("dead/preview?kind=redrive")
	b.press("Redrive them")
	harness.Await(t, s.direct, "select exists (select from pg_locks l join pg_stat_activity a using (pid) where a.usename = '"+s.user+"' and not l.granted)")
	b.press("Log out")
	harness.Await(t, s.direct, "select not exists (select from pg_stat_activity where usename = '"+s.user+"')")
	s.ask(t, "rollback")
	harness.Want(t, s.direct, "running|t", "select state, done between 1 and 1099 and done = (select count(*) from mbus4.message where consumer_id <> 1) from mbus4.operation")

	other := newBrowser(t, desk)
	other.logIn(s.admin, password, s.database)
	other.open("operations")
	other.has("No operations yet")
	other.expect("status of 404")
	other.open("operation?id=1")
	other.has("Operation not found")

	b.logIn(s.user, password, s.database)
	b.runScript(`location = "/page/operation?id=1"`)
	b.await(`document.querySelector(".state").innerText == "done"`)
	harness.Want(t, s.direct, "0|1100|1100", "select count(*) filter (where consumer_id = 1), count(*) filter (where consumer_id <> 1), count(distinct data->'n') from mbus4.message")
}

// Who logs out and in again at once finds it going on, although the server has not yet ended the session that ran it.
func TestDeadGoesOnAtOnce(t *testing.T) {
	t.Parallel()
	s := newSite(t, "orders")
	s.die(t, 700) // so that it waits in a later batch than the first, and the earlier session is known to run it
	s.ask(t, "select mbus4.post('dmq', 'n=>701', 'destination=>orders', iid => 'mine')")
	s.ask(t, "begin; select mbus4.post('orders', 'n=>0', iid => 'mine')")
	b := newBrowser(t, desk)
	b.logIn(s.user, password, s.database)
	b.open("dead/preview?kind=redrive")
	b.press("Redrive them")
	const waits = "from pg_locks l join pg_stat_activity a using (pid) where not l.granted and a.usename = '"
	harness.Await(t, s.direct, "select exists (select "+waits+s.user+"')")
	first := harness.Ask(t, s.direct, "select pid "+waits+s.user+"'")
	harness.Want(t, s.direct, "t", "select pid is not null and done > 0 from mbus4.operation")
	b.press("Log out")
	b.logIn(s.user, password, s.database)
	harness.Await(t, s.direct, "select exists (select "+waits+s.user+"' and pid <> "+first+")")
	s.ask(t, "rollback")
	harness.Await(t, s.direct, "select state = 'done' from mbus4.operation")
	harness.Want(t, s.direct, "0|701", "select count(*) filter (where consumer_id = 1), count(distinct data->'n') from mbus4.message")
}

// Who may not has no button, and does not get by without one.
func TestDeadRights(t *testing.T) {
	t.Parallel()
	s := newSite(t, "orders")
	s.die(t, 5)
	looker := s.database + "_looker"
	harness.Admin(t, `create role `+looker+` login password 'a ''pass\word'`)
	t.Cleanup(func() {
		conn, err := pgconn.Connect(context.Background(), harness.Direct().DSN(s.database))
		if err == nil {
			_, err = conn.Exec(context.Background(), "drop owned by "+looker).ReadAll()
			harness.Close(conn)
		}
		if err != nil {
			t.Error(err)
		}
		harness.Admin(t, "drop role "+looker)
	})
	// May look, and no more.
	harness.Ask(t, s.direct, `grant usage on schema mbus4 to `+looker+`; grant select on all tables in schema mbus4 to `+looker+`; grant select on all sequences in schema mbus4 to `+looker+`;
		grant execute on all functions in schema mbus4 to `+looker)
	b := newBrowser(t, desk)
	b.logIn(looker, password, s.database)
	b.open("dead")
	b.has(markup)
	b.hasNot("Redrive…", "Purge…")
	b.open("dead/preview?kind=purge")
	b.has("5 messages")
	b.hasNot("Purge them")
	// A form of its own makes an operation that does nothing: the server refuses its batch.
	b.expect("status of 4")
	b.runScript(`const f = document.querySelector("form.who"); f.action = "/page/dead/begin"; f.insertAdjacentHTML("beforeend", "<input name=kind value=purge>"); f.submit()`)
	b.await(`document.querySelector(".problem") != null`)
	b.has("permission denied")
	harness.Want(t, s.direct, "5", "select count(*) from mbus4.message where consumer_id = 1")

	stranger := newBrowser(t, desk)
	stranger.expect("status of 4")
	stranger.logIn(s.stranger, password, s.database)
	for _, path := range []string{"dead", "dead/preview?kind=purge", "operations", "operation?id=1", "audit"} {
		stranger.open(path)
		stranger.hasNot(markup, "purge", "permission denied for table")
	}
}

// runScript runs a script that leads to another page, and waits for that.
func (b *browser) runScript(script string) {
	b.t.Helper()
	b.follow(chromedp.Evaluate[chromedp.Void](script))
}

// withoutScript turns scripts off in pages.
func (b *browser) withoutScript() {
	b.t.Helper()
	send(b, emulation.SetScriptExecutionDisabled, emulation.SetScriptExecutionDisabledParams{Value: true})
}

// awaitReloaded asks for the page again until the operation on it is in a state.
func (b *browser) awaitReloaded(state string) {
	b.t.Helper()
	for b.text(".state") != state {
		if b.ctx.Err() != nil {
			b.t.Fatalf("browser: the operation does not come to be %s", state)
		}
		b.follow(chromedp.Reload())
	}
}

// The pages about what is dead look as the others do: see TestLook.
func TestDeadLook(t *testing.T) {
	t.Parallel()
	axe, err := os.ReadFile("node/node_modules/axe-core/axe.min.js")
	if err != nil {
		t.Fatalf("%v: scripts/setup.sh test installs it", err)
	}
	s := newSite(t, "orders", "archive")
	s.die(t, 60)
	harness.Ask(t, s.direct, fmt.Sprintf(`
		insert into mbus4.operation (role, role_oid, kind, state, queue, selector, until, at, done, looked, refused, ended, error)
		select '%[1]s', '%[1]s'::regrole, x.kind, x.state, 'orders', 't.headers->''colour'' = ''red''', now(), now(), 1200, 5000, 3, x.ended, x.error
		from (values ('purge', 'paused', null, 'permission denied for table message'), ('redrive', 'done', now(), null)) x (kind, state, ended, error);
		insert into mbus4.operation_log (operation, batch, messages) values (2, 1, '{}');
		insert into mbus4.audit (at, role, acting_as, address, application, pid, action, queue, consumer, selector, messages, details)
		values (now(), '%[1]s', 'mbus4_user', '127.0.0.1', 'mbusproxy page', 1, 'redrive', 'orders', 'default', 't.headers->''colour'' = ''red''', 500, '{"operation": 1, "batch": 1}')`, s.operator))
	b := newBrowser(t, desk)
	b.logIn(s.operator, password, s.database)
	for name, path := range map[string]string{
		"dead": "dead?queue=orders", "dead-none": "dead?queue=none", "preview": "dead/preview?kind=move&queue=orders", "operations": "operations", "paused": "operation?id=1", "done": "operation?id=2", "audit": "audit",
	} {
		b.open(path)
		for _, sc := range []screen{desk, {390, 844, true}} { // what check looks at
			b.look(sc)
			check(b, string(axe), name, sc)
		}
	}
}
