package doctor

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"mbusproxy/trust"
)

// State is what has become of a check.
type State string

// The states of a finding.
const (
	OK      State = "ok"
	Warning State = "warning" // it works, but not as it could
	Failure State = "failure" // it does not work
)

// Finding is the outcome of one check.
type Finding struct {
	Check string `json:"check"`
	State State  `json:"state"`
	Found string `json:"found"`
	Mend  string `json:"mend,omitempty"` // what to do about it; "" where it is ok
}

// Server is what is looked at.
type Server struct {
	Upstream, Admin string        // DSNs
	OldestMajor     int           // of Postgres, with which mbusproxy works
	LongHeld        time.Duration // of a snapshot that is told of; 0: ten minutes
}

const (
	connectTimeout = 5 * time.Second
	longHeld       = 10 * time.Minute // a snapshot
	mostSkew       = 2 * time.Second
)

// Examine looks at the server and calls each with each finding as soon as it is there. It returns
// whether one was a Failure.
func Examine(ctx context.Context, s Server, each func(Finding)) (failed bool) {
	tell := func(f Finding) {
		failed = failed || f.State == Failure
		each(f)
	}
	if !reachable(ctx, s.Upstream, tell) {
		return true
	}
	conn, err := connect(ctx, s.Admin)
	if err != nil {
		tell(Finding{"admin", Failure, said(err), "--admin names host, user, password and database of the role that keeps house; try it with psql"})
		return true
	}
	defer func() { _ = conn.Close(context.WithoutCancel(ctx)) }()
	for _, check := range []func(context.Context, *pgx.Conn, Server) ([]Finding, error){
		version, direct, adminRole, hstore, installed, members, verifiers, settings, horizon, vacuum, clock,
	} {
		var found []Finding
		err := alone(ctx, conn, func() (err error) {
			found, err = check(ctx, conn, s)
			return err
		})
		for _, f := range found {
			tell(f)
		}
		if err != nil {
			tell(Finding{"looking", Failure, said(err), "the role of --admin may not look, or the server went away"})
		}
	}
	return failed
}

// alone runs f in a transaction of its own that has the role and the search path of nobody else.
// Whoever owns the database chooses others for sessions in it (ALTER DATABASE … SET), and what is
// found by them would run as the admin role. A transaction, for behind a pooler a setting of the
// session would be others'.
func alone(ctx context.Context, conn *pgx.Conn, f func() error) error {
	if _, err := conn.PgConn().Exec(ctx, trust.BeginReading+"; set local role none").ReadAll(); err != nil {
		return fmt.Errorf("beginning to look: %w", err)
	}
	err := f()
	if _, undo := conn.PgConn().Exec(ctx, "rollback").ReadAll(); err == nil && undo != nil {
		return fmt.Errorf("ending to look: %w", undo)
	}
	return err
}

// said is the server's word for an error, or that of the network.
func said(err error) string {
	var server *pgconn.PgError
	if errors.As(err, &server) {
		return server.Message
	}
	var c *pgconn.ConnectError
	if errors.As(err, &c) && c.Unwrap() != nil {
		return c.Unwrap().Error()
	}
	return err.Error()
}

func connect(ctx context.Context, dsn string) (*pgx.Conn, error) {
	cfg, err := pgx.ParseConfig(dsn)
	if err != nil {
		return nil, fmt.Errorf("reading the DSN: %w", err)
	}
	cfg.ConnectTimeout = connectTimeout
	cfg.RuntimeParams["application_name"] = "mbusproxy doctor"
	cfg.RuntimeParams["default_transaction_read_only"] = "on"
	cfg.RuntimeParams["statement_timeout"] = "30s"
	return pgx.ConnectConfig(ctx, cfg)
}

// reachable looks at each host of the upstream.
func reachable(ctx context.Context, dsn string, tell func(Finding)) bool {
	cfg, err := pgconn.ParseConfig(dsn)
	if err != nil {
		tell(Finding{"upstream", Failure, fmt.Sprintf("the DSN cannot be read: %v", err), "for example: host=db.example.net port=5432 sslmode=verify-full"})
		return false
	}
	type place struct {
		host string
		port uint16
	}
	seen, some := map[place]bool{}, false
	for _, p := range append([]*pgconn.FallbackConfig{{Host: cfg.Host, Port: cfg.Port}}, cfg.Fallbacks...) {
		at := place{p.Host, p.Port}
		if seen[at] {
			continue
		}
		seen[at] = true
		network, address := pgconn.NetworkAddress(p.Host, p.Port)
		dialer := net.Dialer{Timeout: connectTimeout}
		conn, err := dialer.DialContext(ctx, network, address)
		if err != nil {
			tell(Finding{"upstream", Warning, fmt.Sprintf("%s takes no connections: %v", address, err), "is the server running, and do listen_addresses and the firewall let this machine in?"})
			continue
		}
		_ = conn.Close()
		some = true
		tell(Finding{Check: "upstream", State: OK, Found: address + " takes connections"})
	}
	if !some {
		tell(Finding{"upstream", Failure, "no host takes connections", "check host and port of --upstream"})
	}
	return some
}

// one asks for a single row.
func one(ctx context.Context, conn *pgx.Conn, sql string, into ...any) error {
	if err := conn.QueryRow(ctx, sql).Scan(into...); err != nil {
		return fmt.Errorf("asking the server: %w", err)
	}
	return nil
}

func version(ctx context.Context, conn *pgx.Conn, s Server) ([]Finding, error) {
	var n int
	var text string
	if err := one(ctx, conn, "select current_setting('server_version_num')::int, current_setting('server_version')", &n, &text); err != nil {
		return nil, err
	}
	if n/10000 < s.OldestMajor {
		return []Finding{{"version", Failure, "Postgres " + text, fmt.Sprintf("mbusproxy needs Postgres %d or newer", s.OldestMajor)}}, nil
	}
	return []Finding{{Check: "version", State: OK, Found: "Postgres " + text}}, nil
}

// direct finds poolers: behind one the process that answers is not the one whose key the client has.
func direct(ctx context.Context, conn *pgx.Conn, _ Server) ([]Finding, error) {
	var pid uint32
	if err := one(ctx, conn, "select pg_catalog.pg_backend_pid()", &pid); err != nil {
		return nil, err
	}
	if pid != conn.PgConn().PID() {
		return []Finding{{
			"pooler", Warning, "there is a connection pooler between mbusproxy and the server",
			"put the pooler before mbusproxy, or in session mode behind it: in transaction mode calls that wait, temporary queues and prepared statements do not work",
		}}, nil
	}
	return []Finding{{Check: "pooler", State: OK, Found: "none between mbusproxy and the server"}}, nil
}

func adminRole(ctx context.Context, conn *pgx.Conn, _ Server) ([]Finding, error) {
	var role, database string
	var creates, super, there, owns bool
	err := one(ctx, conn, `select session_user, pg_catalog.current_database(), pg_catalog.has_database_privilege(session_user, pg_catalog.current_database(), 'create'),
		(select r.rolsuper from pg_catalog.pg_roles r where r.rolname = session_user),
		exists (select from pg_catalog.pg_namespace n where n.nspname = 'mbus4'),
		exists (select from pg_catalog.pg_namespace n where n.nspname = 'mbus4' and pg_catalog.pg_has_role(session_user, n.nspowner, 'usage'))`,
		&role, &database, &creates, &super, &there, &owns)
	switch {
	case err != nil:
		return nil, err
	case there && !owns:
		return []Finding{{"admin", Failure, fmt.Sprintf("the role %s does not own the schema mbus4 of database %s", role, database), "use the role that made it, or one that is a member of that"}}, nil
	case !there && !creates:
		return []Finding{{"admin", Failure, fmt.Sprintf("the role %s may not create a schema in database %s", role, database), fmt.Sprintf("grant create on database %s to %s", database, role)}}, nil
	}
	return []Finding{{Check: "admin", State: OK, Found: fmt.Sprintf("the role %s may do what it has to in database %s", role, database)}}, nil
}

func hstore(ctx context.Context, conn *pgx.Conn, _ Server) ([]Finding, error) {
	var installed, available bool
	err := one(ctx, conn, `select exists (select from pg_catalog.pg_extension e where e.extname = 'hstore'),
		exists (select from pg_catalog.pg_available_extensions a where a.name = 'hstore')`, &installed, &available)
	switch {
	case err != nil:
		return nil, err
	case installed:
		return []Finding{{Check: "hstore", State: OK, Found: "the extension is installed"}}, nil
	case available:
		return []Finding{{Check: "hstore", State: OK, Found: "the extension can be created, which mbusproxy init does"}}, nil
	}
	return []Finding{{"hstore", Failure, "the server does not have the extension", "install Postgres's contrib modules (Debian has them in postgresql-NN, RPMs in postgresqlNN-contrib)"}}, nil
}

func installed(ctx context.Context, conn *pgx.Conn, _ Server) ([]Finding, error) {
	var there bool
	if err := one(ctx, conn, "select pg_catalog.to_regclass('mbus4.schema_version') is not null", &there); err != nil || !there {
		return []Finding{{Check: "schema", State: OK, Found: "not there yet: serve makes it when it is needed, or mbusproxy init"}}, err
	}
	// Else somebody else's view would be read, with the rights of the admin role.
	whose, err := trust.Scan(conn.QueryRow(ctx, trust.ForEngine()))
	switch {
	case err != nil:
		return nil, err
	case whose.What != "":
		return []Finding{{
			"schema", Failure, fmt.Sprintf("%s belongs to role %s, which role %s does not trust: serve refuses the database", whose.What, whose.Whose, whose.Role),
			"drop the schema, or if it is as it should be let --admin name that role: docs/security.md",
		}}, nil
	case whose.Absent:
		return nil, errors.New("schema mbus4 went away")
	}
	var v int
	if err := one(ctx, conn, "select coalesce(max(version), 0) from mbus4.schema_version", &v); err != nil {
		return nil, err
	}
	return []Finding{{Check: "schema", State: OK, Found: fmt.Sprintf("mbus4 is there, version %d", v)}}, nil
}

func members(ctx context.Context, conn *pgx.Conn, _ Server) (out []Finding, err error) {
	for _, role := range []string{"mbus4_user", "mbus4_admin"} {
		var there, some bool
		err := conn.QueryRow(ctx, `select exists (select from pg_catalog.pg_roles r where r.rolname = $1),
			exists (select from pg_catalog.pg_auth_members m join pg_catalog.pg_roles r on r.oid = m.roleid join pg_catalog.pg_roles u on u.oid = m.member where r.rolname = $1 and u.rolname <> 'mbus4_admin')`, role).Scan(&there, &some)
		switch {
		case err != nil:
			return out, fmt.Errorf("looking for roles: %w", err)
		case !there:
			out = append(out, Finding{"rights", Warning, "there is no role " + role, "mbusproxy init makes it where it may create roles; else: create role " + role + ", and init again"})
		case !some && role == "mbus4_user":
			out = append(out, Finding{"rights", Warning, "nobody is a member of " + role + " (superusers need not be)", "grant " + role + " to the roles of your applications"})
		default:
			out = append(out, Finding{Check: "rights", State: OK, Found: "the role " + role + " is there"})
		}
	}
	return out, nil
}

func verifiers(ctx context.Context, conn *pgx.Conn, _ Server) ([]Finding, error) {
	var may bool
	if err := one(ctx, conn, "select pg_catalog.has_column_privilege('pg_catalog.pg_authid', 'rolpassword', 'select')", &may); err != nil {
		return nil, err
	}
	if !may {
		return []Finding{{
			"channel binding", Warning, "the admin role may not read pg_authid: clients with TLS that demand channel binding are refused",
			"grant select (rolname, rolpassword) on pg_catalog.pg_authid to that role, or use channel_binding=prefer, which is the default",
		}}, nil
	}
	return []Finding{{Check: "channel binding", State: OK, Found: "can be offered to clients with TLS"}}, nil
}

// setting is one of the server's that hurts where it is not as wanted.
type setting struct{ name, wanted, hurts, mend string }

func settings(ctx context.Context, conn *pgx.Conn, _ Server) (out []Finding, err error) {
	for _, s := range []setting{
		{"autovacuum", "on", "queues become slow within hours", "autovacuum = on"},
		{"track_counts", "on", "autovacuum does not know what to do", "track_counts = on"},
		{"track_activities", "on", "nobody can tell who holds a message", "track_activities = on"},
		{"fsync", "on", "a crash of the machine may destroy everything", "fsync = on"},
		{"full_page_writes", "on", "a crash of the machine may destroy everything", "full_page_writes = on"},
		{"standard_conforming_strings", "on", "backslashes in strings mean something else than clients think", "standard_conforming_strings = on"},
	} {
		var is string
		if err := conn.QueryRow(ctx, "select reset_val from pg_catalog.pg_settings where name = $1", s.name).Scan(&is); err != nil && !errors.Is(err, pgx.ErrNoRows) {
			return out, fmt.Errorf("reading settings: %w", err)
		}
		if is != "" && is != s.wanted {
			out = append(out, Finding{"settings", Warning, fmt.Sprintf("%s is %s: %s", s.name, is, s.hurts), s.mend + " in postgresql.conf"})
		}
	}
	var isolation string
	if err := one(ctx, conn, "select setting from pg_catalog.pg_settings where name = 'default_transaction_isolation'", &isolation); err != nil {
		return out, err
	}
	if isolation != "read committed" {
		out = append(out, Finding{"settings", Warning, "default_transaction_isolation is " + isolation + ": calls cannot wait in such transactions", "set it per transaction, where it is needed"})
	}
	if len(out) == 0 {
		out = append(out, Finding{Check: "settings", State: OK, Found: "nothing that hurts"})
	}
	return out, nil
}

// horizonSQL finds who keeps dead rows from being removed, the oldest first.
const horizonSQL = `
select h.who, pg_catalog.age(h.xmin), coalesce(extract(epoch from pg_catalog.clock_timestamp() - h.since), 0)::float8
from (
	select 'session ' || a.pid || coalesce(' of ' || a.usename, '') || coalesce(' (' || nullif(a.application_name, '') || ')', '') as who, a.backend_xmin as xmin, a.xact_start as since
	from pg_catalog.pg_stat_activity a where a.backend_xmin is not null and a.pid <> pg_catalog.pg_backend_pid() and a.backend_type <> 'autovacuum worker'
	union all
	select 'prepared transaction "' || p.gid || '" of ' || p.owner, p.transaction, p.prepared from pg_catalog.pg_prepared_xacts p
	union all
	select 'replication slot ' || s.slot_name || case when s.active then '' else ', which nobody uses' end, coalesce(s.xmin, s.catalog_xmin), null
	from pg_catalog.pg_replication_slots s where s.xmin is not null
	union all
	select 'standby ' || coalesce(r.application_name, r.client_addr::text), r.backend_xmin, null from pg_catalog.pg_stat_replication r where r.backend_xmin is not null
) h
order by 2 desc`

func horizon(ctx context.Context, conn *pgx.Conn, s Server) (out []Finding, err error) {
	rows, err := conn.Query(ctx, horizonSQL)
	if err != nil {
		return nil, fmt.Errorf("looking for old snapshots: %w", err)
	}
	var who string
	var age int64
	var seconds float64
	_, err = pgx.ForEachRow(rows, []any{&who, &age, &seconds}, func() error {
		held := time.Duration(seconds * float64(time.Second))
		if held >= cmp.Or(s.LongHeld, longHeld) || strings.HasPrefix(who, "replication slot") && age > 100000 {
			out = append(out, Finding{
				"old snapshots", Warning, fmt.Sprintf("%s keeps what has died in the last %d transactions (%v)", who, age, held.Round(time.Second)),
				"end it; queues stay fast for hours, but their tables grow",
			})
		}
		return nil
	})
	if err != nil {
		return out, fmt.Errorf("looking for old snapshots: %w", err)
	}
	if len(out) == 0 {
		out = append(out, Finding{Check: "old snapshots", State: OK, Found: "nobody has held one for long"})
	}
	return out, nil
}

func vacuum(ctx context.Context, conn *pgx.Conn, _ Server) ([]Finding, error) {
	var dead, live int64
	var off bool
	err := conn.QueryRow(ctx, `select coalesce(sum(s.n_dead_tup), 0)::bigint, coalesce(sum(s.n_live_tup), 0)::bigint,
		coalesce(bool_or(array_to_string(c.reloptions, ',') like '%autovacuum_enabled=off%' or array_to_string(c.reloptions, ',') like '%autovacuum_enabled=false%'), false)
		from pg_catalog.pg_stat_user_tables s join pg_catalog.pg_class c on c.oid = s.relid where s.schemaname = 'mbus4'`).Scan(&dead, &live, &off)
	switch {
	case err != nil:
		return nil, fmt.Errorf("looking at the tables: %w", err)
	case off:
		return []Finding{{"vacuum", Warning, "autovacuum is switched off for a table of mbus4", "alter table … reset (autovacuum_enabled)"}}, nil
	case dead > 1000000 && dead > 2*live:
		return []Finding{{"vacuum", Warning, fmt.Sprintf("%d dead rows in the tables of mbus4, beside %d live ones", dead, live), "who holds an old snapshot? else autovacuum has no worker free: autovacuum_max_workers"}}, nil
	}
	return []Finding{{Check: "vacuum", State: OK, Found: fmt.Sprintf("%d dead rows in the tables of mbus4", dead)}}, nil
}

func clock(ctx context.Context, conn *pgx.Conn, _ Server) ([]Finding, error) {
	before := time.Now()
	var theirs time.Time
	if err := one(ctx, conn, "select pg_catalog.clock_timestamp()", &theirs); err != nil {
		return nil, err
	}
	after := time.Now()
	if theirs.Before(before.Add(-mostSkew)) || theirs.After(after.Add(mostSkew)) {
		return []Finding{{
			"clock", Warning, fmt.Sprintf("the server's clock is %v from this machine's", theirs.Sub(before).Round(time.Millisecond)),
			"run NTP on both; messages go by the server's clock, logs by this one's",
		}}, nil
	}
	return []Finding{{Check: "clock", State: OK, Found: "the server's clock and this one agree"}}, nil
}
