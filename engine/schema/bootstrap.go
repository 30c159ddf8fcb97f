package schema

import (
	"context"
	"fmt"

	"github.com/jackc/pgx/v5"

	"mbusproxy/engine/refusal"
	"mbusproxy/sqlfuncs"
)

// SQLSTATEs that only the making of the schema meets.
const (
	codeInvalidSchema       = "3F000" // invalid_schema_name
	codeDuplicateSchema     = "42P06"
	codeDuplicateTable      = "42P07"
	codeUniqueViolation     = "23505"
	codeNotInRepertoire     = "22021" // character_not_in_repertoire
	codeUndefinedFile       = "58P01" // an extension's control file, up to Postgres 15
	codeFeatureNotSupported = "0A000" // the same, from Postgres 16 on
)

// bootstrapLockWait bounds the wait for somebody who creates the schema or the extension in a
// transaction that is still open.
const bootstrapLockWait = "set local lock_timeout = '2s'"

const createHstoreSQL = `create extension hstore schema public`

// bootstrap creates the schema and in it the table that upgrades lock to take turns. Where two do
// so at once, one of them fails with a duplicate, which is no error: then both exist.
func bootstrap(ctx context.Context, conn *pgx.Conn, in *Installation) error {
	const there = `select pg_catalog.to_regclass('mbus4.upgrade_lock') is not null`
	var done bool
	if err := conn.QueryRow(ctx, there).Scan(&done); err != nil || done {
		return err
	}
	err := pgx.BeginFunc(ctx, conn, func(tx pgx.Tx) error {
		if _, err := tx.Exec(ctx, bootstrapLockWait); err != nil {
			return err
		}
		if !in.schema {
			if _, err := tx.Exec(ctx, `create schema mbus4`); err != nil {
				return err
			}
		}
		_, err := tx.Exec(ctx, `create table mbus4.upgrade_lock ()`)
		return err
	})
	switch refusal.SQLState(err) {
	case codeUniqueViolation, codeDuplicateSchema, codeDuplicateTable:
		return nil // somebody else has made it; the caller inspects what it is
	case refusal.LockNotAvailable:
		return &refusal.Error{
			Code:    refusal.LockNotAvailable,
			Message: fmt.Sprintf("schema mbus4 is being created in database %q by a transaction that is still open", in.database),
			Hint:    "See who that is (pg_locks, pg_stat_activity).",
			Err:     err,
		}
	case refusal.LackingRights:
		if in.schema {
			return lackingRights(*in)
		}
		return lackingCreate(in, sqlfuncs.Schema, err)
	}
	if err != nil {
		return fmt.Errorf("creating schema mbus4: %w", err)
	}
	return nil
}

// emptyBound makes the schema for what is bound to hstore, or empties it where it is left of a schema mbus4 that was
// dropped. It belongs to somebody who is trusted, or in would have been refused.
func emptyBound(ctx context.Context, tx pgx.Tx, in *Installation) error {
	var there bool
	if err := tx.QueryRow(ctx, `select pg_catalog.to_regnamespace($1) is not null`, sqlfuncs.BoundHstore).Scan(&there); err != nil {
		return fmt.Errorf("looking for schema %s: %w", sqlfuncs.BoundHstore, err)
	}
	if !there {
		_, err := tx.Exec(ctx, `create schema `+sqlfuncs.BoundHstore)
		if refusal.SQLState(err) == refusal.LackingRights {
			return lackingCreate(in, sqlfuncs.BoundHstore, err)
		}
		return err
	}
	const left = `
		select 'drop operator ' || o.oid::pg_catalog.regoperator || ' cascade' from pg_catalog.pg_operator o where o.oprnamespace = pg_catalog.to_regnamespace($1)
		union all
		select 'drop function ' || p.oid::pg_catalog.regprocedure || ' cascade' from pg_catalog.pg_proc p where p.pronamespace = pg_catalog.to_regnamespace($1)
		union all
		select 'drop type ' || pg_catalog.format_type(t.oid, null) || ' cascade' from pg_catalog.pg_type t where t.typnamespace = pg_catalog.to_regnamespace($1) and t.typtype in ('c', 'd')`
	rows, err := tx.Query(ctx, left, sqlfuncs.BoundHstore)
	if err != nil {
		return fmt.Errorf("looking at schema %s: %w", sqlfuncs.BoundHstore, err)
	}
	drops, err := pgx.CollectRows(rows, pgx.RowTo[string])
	if err != nil {
		return fmt.Errorf("looking at schema %s: %w", sqlfuncs.BoundHstore, err)
	}
	for _, drop := range drops {
		if _, err := tx.Exec(ctx, drop); err != nil {
			return fmt.Errorf("emptying schema %s: %w", sqlfuncs.BoundHstore, err)
		}
	}
	return nil
}

// lackingCreate is the refusal where the engine's role may not create a schema that it needs.
func lackingCreate(in *Installation, schema string, err error) *refusal.Error {
	return &refusal.Error{
		Code:    refusal.LackingRights,
		Message: fmt.Sprintf("role %q may not create schema %s in database %q", in.role, schema, in.database),
		Hint:    fmt.Sprintf("GRANT CREATE ON DATABASE %s TO %s;", pgx.Identifier{in.database}.Sanitize(), pgx.Identifier{in.role}.Sanitize()),
		Err:     err,
	}
}

// findHstore finds the schema of the extension, and creates the extension where it is missing and create is set.
func findHstore(ctx context.Context, tx pgx.Tx, in *Installation, create bool) error {
	const where = `select coalesce(pg_catalog.min(pg_catalog.quote_ident(n.nspname)), '') from pg_catalog.pg_extension e
		join pg_catalog.pg_namespace n on n.oid = e.extnamespace where e.extname = 'hstore'`
	if err := tx.QueryRow(ctx, where).Scan(&in.hstoreSchema); err != nil {
		return fmt.Errorf("looking for extension hstore: %w", err)
	}
	if in.hstoreSchema != "" || !create {
		return nil
	}
	// Whoever creates it in an open transaction may be waiting for us: a client whose next statement
	// is the first call in the database.
	if _, err := tx.Exec(ctx, bootstrapLockWait); err != nil {
		return fmt.Errorf("setting lock_timeout: %w", err)
	}
	if _, err := tx.Exec(ctx, createHstoreSQL); err != nil {
		return hstoreError(err, in)
	}
	in.hstoreSchema = "public"
	return nil
}

func hstoreError(err error, in *Installation) error {
	if refusal.SQLState(err) == refusal.LockNotAvailable {
		return &refusal.Error{
			Code:    refusal.LockNotAvailable,
			Message: fmt.Sprintf("extension hstore is being created in database %q by a transaction that is still open", in.database),
			Hint:    "Commit CREATE EXTENSION before the first call of mbus4.",
			Err:     err,
		}
	}
	hint := fmt.Sprintf("As a superuser, in database %q: CREATE EXTENSION hstore;", in.database)
	switch refusal.SQLState(err) {
	case codeUndefinedFile, codeFeatureNotSupported:
		hint = "Install the server's contrib package (postgresql-contrib); hstore is part of it."
	case codeInvalidSchema: // there is no schema public
		hint = fmt.Sprintf("In database %q: CREATE EXTENSION hstore SCHEMA <one>;", in.database)
	}
	return &refusal.Error{
		Code:    refusal.SQLState(err),
		Message: fmt.Sprintf("role %q cannot create extension hstore in database %q", in.role, in.database),
		Hint:    hint,
		Err:     err,
	}
}
