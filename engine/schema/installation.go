package schema

import (
	"context"
	"errors"
	"fmt"

	"github.com/jackc/pgx/v5"

	"mbusproxy/engine/refusal"
	"mbusproxy/engine/selectors"
	"mbusproxy/selector"
	"mbusproxy/sqlfuncs"
)

// Installation is what a database holds of ours.
type Installation struct {
	database     string
	oid          uint32   // of the database: another one means it was dropped and made again
	role         string   // the engine's own
	template     bool     // others are made from it
	schema       bool     // a schema mbus4 exists
	foreign      bool     // a schema mbus4 exists that is not ours
	unreleased   bool     // it was made by a program from before the first release
	version      int      // 0: nothing installed
	newest       int      // the newest version that this program knows
	oldest       int      // the newest version that a program must know to use the database
	hstoreSchema string   // quoted where needed; "": the extension is not there
	owner        string   // of the schema
	usable       bool     // the role may do all the services do
	granted      bool     // mbus4_user and mbus4_admin have what rights/*.sql give
	major        int      // of the server
	stale        bool     // selectors are to be compiled again
	functions    []string // names of the functions that serve calls in place, whichever program made them
}

// Database is the name of the database.
func (in Installation) Database() string { return in.database }

// Env is what selectors of the database are compiled for.
func (in Installation) Env() selector.Env {
	return selector.Env{HstoreSchema: in.hstoreSchema, Bound: sqlfuncs.BoundHstore, Major: in.major}
}

const inspectSQL = `
select d.oid, d.datname::text, current_user::text,
       d.datistemplate or d.datname in ('template0', 'template1'),
       n.oid is not null,
       n.oid is not null and v.oid is null and (
           exists (select from pg_catalog.pg_class where relnamespace = n.oid and relname <> 'upgrade_lock')
           or exists (select from pg_catalog.pg_proc where pronamespace = n.oid)
           or exists (select from pg_catalog.pg_type where typnamespace = n.oid and typname not in ('upgrade_lock', '_upgrade_lock'))),
       v.oid is not null and (pg_catalog.to_regnamespace('mbus4_hstore') is null
                              or not exists (select from pg_catalog.pg_attribute where attrelid = v.oid and attname = 'oldest')),
       v.oid is not null,
       coalesce((select pg_catalog.quote_ident(hn.nspname) from pg_catalog.pg_extension e
                 join pg_catalog.pg_namespace hn on hn.oid = e.extnamespace
                 where e.extname = 'hstore'), ''),
       coalesce(pg_catalog.pg_get_userbyid(n.nspowner)::text, ''),
       coalesce(pg_catalog.has_schema_privilege(n.oid, 'usage')
                and pg_catalog.has_table_privilege(v.oid, 'select'), false),
       pg_catalog.current_setting('server_version_num')::int / 10000
from pg_catalog.pg_database d
left join pg_catalog.pg_namespace n on n.nspname = 'mbus4'
left join pg_catalog.pg_class v on v.relnamespace = n.oid and v.relname = 'schema_version'
where d.datname = pg_catalog.current_database()`

// inspect looks at what is installed. It changes nothing and needs no rights.
func inspect(ctx context.Context, conn *pgx.Conn) (Installation, error) {
	in, err := identify(ctx, conn)
	if err != nil {
		return in, err
	}
	if in.version == 0 {
		return in, nil
	}
	if in.usable, err = usable(ctx, conn); err != nil {
		return in, err
	}
	if in.granted, err = granted(ctx, conn); err != nil {
		return in, err
	}
	if in.usable {
		if in.stale, err = selectors.Stale(ctx, conn, in.major); err != nil {
			return in, err
		}
	}
	in.functions, err = functionsFound(ctx, conn)
	return in, err
}

// identify looks only at what tells one installation from another: the database, the version, where
// hstore is, whose the schema is.
func identify(ctx context.Context, conn *pgx.Conn) (Installation, error) {
	var in Installation
	var versioned, readable bool
	err := conn.QueryRow(ctx, inspectSQL).Scan(&in.oid, &in.database, &in.role, &in.template, &in.schema, &in.foreign, &in.unreleased,
		&versioned, &in.hstoreSchema, &in.owner, &readable, &in.major)
	if err != nil {
		return in, fmt.Errorf("looking for schema mbus4: %w", err)
	}
	if in.foreign {
		return in, nil
	}
	in.schema, err = checkTrust(ctx, conn, &in)
	if err != nil {
		return in, err
	}
	if !versioned || !in.schema || in.unreleased {
		return in, nil
	}
	if !readable {
		return in, lackingRights(in)
	}
	err = conn.QueryRow(ctx, `select version, oldest from mbus4.schema_version order by version desc limit 1`).Scan(&in.version, &in.oldest)
	if err != nil && !errors.Is(err, pgx.ErrNoRows) {
		return in, fmt.Errorf("reading the version of schema mbus4: %w", err)
	}
	if in.version > 0 && in.version < baselineVersion {
		in.version, in.unreleased = 0, true
	}
	return in, nil
}

// complete reports whether the schema has the program's version, or a newer one, and everything that belongs to it.
func (in Installation) complete(newest int) bool {
	return in.version >= newest && in.granted && !in.stale && len(in.missingFunctions()) == 0
}

// otherFunctions is how many functions of other versions of the program there are.
func (in Installation) otherFunctions() int {
	return len(in.functions) + len(in.missingFunctions()) - len(definitions())
}

// check refuses what this program must not work with. newest is the newest version it knows.
func (in Installation) check(newest int) error {
	switch {
	case in.foreign:
		return &refusal.Error{
			Code:    refusal.NotInRequiredState,
			Message: fmt.Sprintf("schema mbus4 of database %q was not made by mbusproxy", in.database),
			Hint: "Another message bus (mbus4 in PL/pgSQL?) is installed there. Consume what it still holds, " +
				"then drop or rename the schema; mbusproxy has not touched it.",
		}
	case in.unreleased:
		return &refusal.Error{
			Code:    refusal.NotInRequiredState,
			Message: fmt.Sprintf("schema mbus4 of database %q was made by a mbusproxy from before its first release", in.database),
			Hint:    "Consume what it still holds with that program, then drop the schemas mbus4, mbus4_views and mbus4_hstore; mbusproxy has not touched them.",
		}
	case in.oldest > newest:
		return &refusal.Error{
			Code: refusal.NotInRequiredState,
			Message: fmt.Sprintf("schema mbus4 of database %q has version %d, which needs a mbusproxy that knows version %d; this one knows version %d",
				in.database, in.version, in.oldest, newest),
			Hint: "Run a newer mbusproxy.",
		}
	case in.version == 0 && in.template:
		return &refusal.Error{
			Code:    refusal.NotInRequiredState,
			Message: fmt.Sprintf("database %q is a template, in which schema mbus4 is not created", in.database),
			Hint:    "Each new database would be a copy with all that the schema holds. Use another database.",
		}
	case in.version > 0 && in.hstoreSchema == "":
		return &refusal.Error{
			Code:    refusal.UndefinedObject,
			Message: fmt.Sprintf("extension hstore is missing from database %q", in.database),
			Hint:    "Schema mbus4 is damaged; restore the database or drop the schema.",
		}
	case in.version > 0 && !in.usable:
		return lackingRights(in)
	}
	return nil
}

// lackingRights is the refusal where schema mbus4 belongs to another role, which has not given the
// engine's role its rights.
func lackingRights(in Installation) *refusal.Error {
	owner := pgx.Identifier{in.owner}.Sanitize()
	return &refusal.Error{
		Code:    refusal.LackingRights,
		Message: fmt.Sprintf("role %q lacks rights on schema mbus4 of database %q", in.role, in.database),
		Hint: fmt.Sprintf("Let --admin name the schema's owner %s, or GRANT %s TO %s.",
			owner, owner, pgx.Identifier{in.role}.Sanitize()),
	}
}
