package housekeeping

import (
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"mbusproxy/engine/internal/enginetest"
	"mbusproxy/engine/refusal"
)

// scheduling is a database with a queue q, whose schedules several schedulers serve.
type scheduling struct {
	*testing.T
	name string
	conn *pgx.Conn
}

func newScheduling(t *testing.T) scheduling {
	t.Helper()
	t.Parallel()
	name := enginetest.Installed(t)
	conn := enginetest.Connect(t, name)
	enginetest.One[int](t, conn, enginetest.NewConsumer, "q")
	return scheduling{t, name, conn}
}

// add makes a schedule whose next tick is given in SQL; "null" leaves it to the scheduler.
func (s scheduling) add(name, cron, next string) {
	s.Helper()
	enginetest.Exec(s.T, s.conn, "insert into mbus4.schedule (name, cron, timezone, qname, data) values ($1, $2, 'UTC', 'q', 'a=>1')", name, cron)
	enginetest.Exec(s.T, s.conn, "update mbus4.schedule set tick = "+next+", planned = hashtextextended(left(cron, 300) || ' ' || left(timezone, 100), 0) where name = $1", name)
}

// addNew is add for a schedule of the session's role.
func (s scheduling) addNew(name, cron string) {
	s.Helper()
	enginetest.Exec(s.T, s.conn, "insert into mbus4.schedule (name, cron, timezone, qname) values ($1, $2, 'UTC', 'q')", name, cron)
}

// turn lets a new scheduler work once.
func (s scheduling) turn(conn *pgx.Conn) int {
	s.Helper()
	one := newScheduler()
	one.owners.long = time.Hour
	_, due, err := look(enginetest.Context(s.T), conn)
	if err != nil {
		s.Fatal(err)
	}
	one.note(due)
	n, err := one.Tick(enginetest.Context(s.T), conn)
	if err != nil {
		s.Fatal(err)
	}
	return n
}

func (s scheduling) want(want, sql string) {
	s.Helper()
	if got := enginetest.One[string](s.T, s.conn, sql); got != want {
		s.Errorf("%s: %s, want %s", sql, got, want)
	}
}

// A new schedule gets its first tick, which is not posted before its time; the latest of those that
// have passed is, and the others are counted.
func TestScheduler(t *testing.T) {
	s := newScheduling(t)
	s.add("new", "0 0 1 1 *", "null")
	if n := s.turn(s.conn); n != 0 {
		t.Errorf("%d posts", n)
	}
	s.want("t", "select (next_at = date_trunc('year', now() at time zone 'UTC') at time zone 'UTC' + interval '1 year')::text::char(1) from mbus4.schedule")
	if n := s.turn(s.conn); n != 0 {
		t.Errorf("%d posts", n)
	}
	s.add("old", "0 0 1 1 *", "timestamptz '2020-01-01 00:00Z'")
	if n := s.turn(s.conn); n != 1 {
		t.Errorf("%d posts", n)
	}
	s.want("t", "select (missed = extract(year from now() at time zone 'UTC') - 2020 and last_error is null and next_at > now())::text::char(1) from mbus4.schedule where name = 'old'")
	s.want("t", "select (headers->'scheduled_at' = to_char(now() at time zone 'UTC', 'YYYY') || '-01-01T00:00:00Z')::text::char(1) from mbus4.message")
	s.want("t", "select (to_char(last_at at time zone 'UTC', 'YYYY-MM-DD') = to_char(now() at time zone 'UTC', 'YYYY') || '-01-01')::text::char(1) from mbus4.schedule where name = 'old'")
}

// However many look at once, each tick is posted once.
func TestSchedulersAtOnce(t *testing.T) {
	s := newScheduling(t)
	const schedules, rounds = 20, 5
	for round := range rounds {
		for n := range schedules {
			name := fmt.Sprint("s", n)
			if round == 0 {
				s.add(name, "@hourly", "null")
			}
			enginetest.Exec(t, s.conn, "update mbus4.schedule set planned = hashtextextended(left(cron, 300) || ' ' || left(timezone, 100), 0), tick = date_trunc('hour', now()) where name = $1", name)
		}
		var all sync.WaitGroup
		for range 4 {
			conn := enginetest.Connect(t, s.name)
			all.Go(func() { s.turn(conn) })
		}
		all.Wait()
		s.want(fmt.Sprintf("%d %d", schedules, schedules*(round+1)), "select count(distinct headers->'schedule') || ' ' || count(*) from mbus4.message")
		s.want("0", "select count(*)::text from mbus4.schedule where next_at <= now() or last_at is null")
	}
}

// A schedule that a client has locked is skipped and does not keep the scheduler busy; the others go on.
func TestSchedulerSkipsLocked(t *testing.T) {
	s := newScheduling(t)
	s.add("held", "@hourly", "now() - interval '2 hours'")
	client := enginetest.Connect(t, s.name)
	enginetest.Exec(t, client, "begin; update mbus4.schedule set data = 'a=>2' where name = 'held'")
	s.add("free", "@hourly", "now()")
	if n := s.turn(s.conn); n != 1 {
		t.Errorf("%d posts", n)
	}
	s.want("1", "select count(*)::text from mbus4.message where headers->'schedule' = 'free'")
	one := newScheduler()
	one.due = time.Now()
	if n, err := one.Tick(enginetest.Context(t), s.conn); n != 0 || err != nil {
		t.Errorf("%d posts, %v", n, err)
	}
	zero := 0.0
	if one.note(&zero); one.wait(time.Hour) < tickInterval/2 {
		t.Errorf("it looks again in %v", one.wait(time.Hour))
	}
	enginetest.Exec(t, client, "commit")
	if n := s.turn(s.conn); n != 1 {
		t.Errorf("%d posts", n)
	}
	s.want("2", "select data->'a' from mbus4.message where headers->'schedule' = 'held'")
}

// What is wrong with one schedule is noted, its tick is counted as missed, and the others go on.
func TestSchedulerErrors(t *testing.T) {
	s := newScheduling(t)
	role := enginetest.NewRole(t, s.name)
	past := "date_trunc('hour', now())"
	s.add("fine", "@hourly", past)
	s.add("lost", "@hourly", past)
	enginetest.Exec(t, s.conn, "update mbus4.schedule set qname = 'nowhere' where name = 'lost'")
	s.add("broken", "@hourly", past)
	enginetest.Exec(t, s.conn, "update mbus4.schedule set headers = 'consume_after=>\"{\"' where name = 'broken'")
	s.add("unread", "whenever", past)
	s.add("foreign", "@hourly", past)
	s.add("gone", "@hourly", past)
	enginetest.Exec(t, s.conn, "update mbus4.schedule set owner = $1 where name = 'foreign'", role)
	enginetest.Exec(t, s.conn, "update mbus4.schedule set owner = 'who was' where name = 'gone'")
	if n := s.turn(s.conn); n != 1 {
		t.Errorf("%d posts", n)
	}
	for name, want := range map[string]string{
		"fine":    "0 - ",
		"lost":    `1 - 42704: queue "nowhere" does not exist`,
		"broken":  "1 - 22P02: malformed array literal: \"{\"",
		"foreign": fmt.Sprintf("1 - role %q may not post", role),
		"gone":    `1 - role "who was" may not post`,
	} {
		s.want(want, "select missed || ' - ' || coalesce(last_error, '') from mbus4.schedules where name = '"+name+"'")
	}
	s.want("infinity", "select next_at::text from mbus4.schedules where name = 'unread' and last_error like 'the schedule \"whenever\" is refused: %'")
	s.want("4", "select count(*)::text from mbus4.schedules where next_at > now() and next_at < 'infinity' and missed = 1")
	s.turn(s.conn)
	enginetest.Exec(t, s.conn, "update mbus4.schedule set qname = 'q' where name = 'lost'")
	enginetest.Exec(t, s.conn, "update mbus4.schedule set planned = hashtextextended(left(cron, 300) || ' ' || left(timezone, 100), 0), tick = now() where name = 'lost'")
	if n := s.turn(s.conn); n != 1 {
		t.Errorf("%d posts", n)
	}
	s.want("1 ∅", "select concat_ws(' ', missed, coalesce(last_error, '∅')) from mbus4.schedules where name = 'lost'")
}

// Who makes a schedule owns it, its name is its members'; what changes nothing leaves the next tick where it is.
func TestScheduleOwners(t *testing.T) {
	s := newScheduling(t)
	roles := map[string]*pgx.Conn{}
	names := map[string]string{}
	for _, who := range []string{"maker", "member", "other", "admin"} {
		names[who] = enginetest.NewRole(t, s.name)
		enginetest.Exec(t, s.conn, "grant mbus4_user to "+names[who])
		roles[who] = enginetest.ConnectTo(t, enginetest.DSNAs(t, s.name, names[who]))
	}
	enginetest.Exec(t, s.conn, fmt.Sprintf("grant %s to %s", names["maker"], names["member"]))
	enginetest.Exec(t, s.conn, "grant mbus4_admin to "+names["admin"])
	const put = `insert into mbus4.schedule (name, cron, timezone, qname) values ('s', $1, 'UTC', 'q')
		on conflict (name) do update set cron = excluded.cron, timezone = excluded.timezone, qname = excluded.qname`
	// Without the right an insert fails, and what is another's is not found.
	may := func(who string, want bool, sql string, args ...any) {
		t.Helper()
		tag, err := roles[who].Exec(enginetest.Context(t), sql, args...)
		if done := err == nil && tag.RowsAffected() > 0; done != want || err != nil && refusal.SQLState(err) != refusal.LackingRights {
			t.Errorf("%s: %s: %v, %v", who, sql, tag, err)
		}
	}
	may("maker", true, put, "@hourly")
	s.turn(s.conn)
	s.want(names["maker"], "select owner::text from mbus4.schedules where next_at is not null")
	may("member", true, put, "@hourly")
	s.want(names["maker"], "select owner::text from mbus4.schedules where next_at is not null")
	may("member", true, put, "@daily")
	s.want("0", "select count(*)::text from mbus4.schedules where next_at is not null")
	for _, who := range []string{"other", "admin"} {
		may(who, false, put, "@weekly")
		may(who, false, "update mbus4.schedule set name = 'mine'")
	}
	may("other", false, "delete from mbus4.schedule")
	may("maker", false, "update mbus4.schedule set owner = 'postgres'")
	may("maker", false, "update mbus4.schedule set tick = now()")
	may("maker", false, "insert into mbus4.schedule (name, cron, timezone, qname, owner) values ('t', '', '', '', 'postgres')")
	may("admin", true, "delete from mbus4.schedule")
	may("maker", true, put, "@hourly")
	may("member", true, "delete from mbus4.schedule")
	// One whose role is gone is not anybody's to change, and anybody's to end.
	may("maker", true, put, "@hourly")
	enginetest.Exec(t, s.conn, "update mbus4.schedule set owner = 'who was'")
	may("maker", false, put, "@daily")
	may("other", true, "delete from mbus4.schedule")
}

// A post that takes too long, or that the server has no room for, is missed, and the schedules
// behind it are not. What is that large a client may choose.
func TestSchedulerGoesOn(t *testing.T) {
	s := newScheduling(t)
	enginetest.Exec(t, s.conn, `create function public.hinder() returns trigger language plpgsql as $$ begin
		if new.headers operator(public.->) 'schedule' = 'slow' then perform pg_sleep(600); end if;
		if new.headers operator(public.->) 'schedule' = 'large' then raise exception using errcode = '53200', message = 'out of memory'; end if;
		return new;
	end $$;
	create trigger hinder before insert on mbus4.message for each row execute function public.hinder()`)
	for i, name := range []string{"slow", "large", "good"} {
		s.add(name, "0 0 1 1 *", fmt.Sprintf("timestamptz '2020-01-01 00:00Z' + interval '%d s'", i))
	}
	one := newScheduler()
	one.limit, one.owners.long = 2*time.Second, time.Hour // only what sleeps takes that long, on a busy machine as well
	tries := 0
	for range mostFailing {
		for _, owner := range one.owners.rest {
			owner.until = time.Now() // the rest is over
		}
		one.due = time.Now()
		if _, err := one.Tick(enginetest.Context(t), s.conn); err != nil {
			t.Fatal(err)
		}
		if one.again != nil {
			tries++
		}
		one.again = nil
	}
	if tries != mostFailing-1 {
		t.Errorf("%d posts are tried again", tries)
	}
	s.want("large 53200: out of memory, slow 57014: canceling statement due to statement timeout",
		"select string_agg(name || ' ' || last_error, ', ' order by name) from mbus4.schedule where last_error is not null")
	s.want("good", "select headers operator(public.->) 'schedule' from mbus4.message")
	s.want("0", "select current_setting('statement_timeout')")
}

// A role that has thousands of schedules due gets every second turn, and one whose posts take long rests.
func TestScheduleOwnersTakeTurns(t *testing.T) {
	s := newScheduling(t)
	greedy, slow := enginetest.NewRole(t, s.name), enginetest.NewRole(t, s.name)
	for _, role := range []string{greedy, slow} {
		enginetest.Exec(t, s.conn, "grant mbus4_user to "+role)
	}
	const past = "timestamptz '2020-01-01 00:00Z'"
	for role, schedules := range map[string]int{greedy: 3000, slow: 3, "postgres": 5} {
		enginetest.Exec(t, s.conn, "set role "+role)
		enginetest.Exec(t, s.conn, "insert into mbus4.schedule (name, cron, timezone, qname) select $1 || n, '@yearly', 'UTC', 'q' from generate_series(1, $2) n", role, schedules)
		enginetest.Exec(t, s.conn, "reset role")
	}
	// The greedy one's are due longest.
	enginetest.Exec(t, s.conn, "update mbus4.schedule set planned = hashtextextended(left(cron, 300) || ' ' || left(timezone, 100), 0), tick = "+past+" + case owner when $1 then interval '0' else interval '1 s' end", greedy)
	enginetest.Exec(t, s.conn, `create function public.hinder() returns trigger language plpgsql as $$ begin
		if new.headers operator(public.->) 'schedule' like '`+slow+`%' then perform pg_sleep(0.6); end if;
		return new;
	end $$;
	create trigger hinder before insert on mbus4.message for each row execute function public.hinder()`)
	one := newScheduler()
	one.owners.long = 500 * time.Millisecond // the others' posts are shorter, however loaded the machine is
	one.due, one.slice = time.Now(), time.Nanosecond
	for range 11 {
		if n, err := one.Tick(enginetest.Context(t), s.conn); n != 1 || err != nil {
			t.Fatalf("%d posts, %v", n, err)
		}
	}
	s.want("5 5 1", fmt.Sprintf(`select concat_ws(' ', count(*) filter (where name like 'postgres%%'), count(*) filter (where name like '%s%%'), count(*) filter (where name like '%s%%')) from mbus4.schedule where last_at is not null`, greedy, slow))
	if rest := one.owners.rest[slow]; rest == nil || time.Until(rest.until) > time.Minute {
		t.Errorf("resting: %v", rest)
	}
	delete(one.owners.rest, slow)
	for range 2 {
		if _, err := one.Tick(enginetest.Context(t), s.conn); err != nil {
			t.Fatal(err)
		}
	}
	s.want("2", "select count(*)::text from mbus4.schedule where last_at is not null and name like '"+slow+"%'")
}

// What one owner's post waits for, or the server has no room for, holds up only that owner's schedules.
func TestScheduleOwnerHeldUpAlone(t *testing.T) {
	for name, hinder := range map[string]string{
		"locked":      "perform pg_sleep(0.01); raise lock_not_available",
		"serialized":  "raise serialization_failure",
		"out of room": "raise out_of_memory",
	} {
		t.Run(name, func(t *testing.T) {
			s := newScheduling(t)
			hostile := enginetest.NewRole(t, s.name)
			enginetest.Exec(t, s.conn, "grant mbus4_user to "+hostile)
			enginetest.Exec(t, s.conn, "set role "+hostile)
			s.addNew("first", "@yearly")
			enginetest.Exec(t, s.conn, "reset role")
			for n := range 5 {
				s.addNew(fmt.Sprint("good", n), "@yearly")
			}
			enginetest.Exec(t, s.conn, `create function public.hinder() returns trigger language plpgsql as $$ begin
				if new.headers operator(public.->) 'schedule' = 'first' then `+hinder+`; end if;
				return new;
			end $$;
			create trigger hinder before insert on mbus4.message for each row execute function public.hinder()`)
			enginetest.Exec(t, s.conn, "update mbus4.schedule set planned = hashtextextended(left(cron, 300) || ' ' || left(timezone, 100), 0), tick = timestamptz '2020-01-01 00:00Z'")
			one := newScheduler()
			one.owners.last, one.owners.long = "postgres", time.Minute
			one.due = time.Now()
			if n, err := one.Tick(enginetest.Context(t), s.conn); n != 5 || err != nil {
				t.Errorf("%d posts, %v", n, err)
			}
			if one.again == nil || time.Until(one.owners.rest[hostile].until) <= 0 {
				t.Error("the owner does not rest")
			}
			s.want("first", "select string_agg(name, ' ') from mbus4.schedule where last_at is null")
		})
	}
}

// While nothing that is due can be had, be it locked or its owner rests, the scheduler pauses, whether or not somebody looks afresh.
func TestSchedulerPausesWhileOwnersRest(t *testing.T) {
	s := newScheduling(t)
	s.add("due", "@yearly", "timestamptz '2020-01-01 00:00Z'")
	one := newScheduler()
	one.owners.posted("postgres", time.Hour, false)
	one.due = time.Now()
	if n, err := one.Tick(enginetest.Context(t), s.conn); n != 0 || err != nil {
		t.Errorf("%d posts, %v", n, err)
	}
	if pause := one.wait(time.Hour); pause < tickInterval/2 || pause > tickInterval {
		t.Errorf("a pause of %v", pause)
	}
}

// The longer a post takes, the smaller is its owner's share of the time.
func TestScheduleOwnersRest(t *testing.T) {
	for _, c := range []struct {
		took  time.Duration
		again bool
		most  float64 // share of the time
	}{
		{longPost, false, 1}, {2 * longPost, false, 0.2}, {postLimit, false, 0.05}, {time.Millisecond, true, 0.01},
	} {
		o := newScheduleOwners()
		o.posted("owner", c.took, c.again)
		if rests := len(o.resting()) > 0; rests != (c.most < 1) {
			t.Errorf("after %v, again %v: rests %v", c.took, c.again, rests)
		} else if share := c.took.Seconds() / (c.took + time.Until(o.of("owner").until)).Seconds(); share > c.most*1.1 {
			t.Errorf("after %v, again %v: %.2f of the time", c.took, c.again, share)
		}
	}
	o := newScheduleOwners()
	o.of("gone").until = time.Now().Add(-2 * keepOwner)
	if o.resting(); len(o.rest) > 0 {
		t.Errorf("kept: %v", o.rest)
	}
}

// However many schedules there are, finding the next one reads few pages.
func TestScheduleClaimReadsFewPages(t *testing.T) {
	s := newScheduling(t)
	enginetest.Exec(t, s.conn, "insert into mbus4.schedule (name, cron, timezone, qname) select 's' || n, '@yearly', 'UTC', 'q' from generate_series(1, 20000) n")
	enginetest.Exec(t, s.conn, "update mbus4.schedule set planned = hashtextextended(left(cron, 300) || ' ' || left(timezone, 100), 0), tick = now() + interval '1 h'")
	enginetest.Exec(t, s.conn, "vacuum mbus4.schedule")
	if n := enginetest.Pages(t, s.conn, claimSQL, "", []string{}); n > 40 {
		t.Errorf("%d pages", n)
	}
}
