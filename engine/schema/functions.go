package schema

import (
	"context"
	"crypto/md5"
	"encoding/hex"
	"fmt"

	"github.com/jackc/pgx/v5"

	"mbusproxy/engine/calls"
	"mbusproxy/sqlfuncs"
)

// The functions in the database that serve calls in place, see engine/calls/stored.go, belong to the program, not to a version
// of the schema: whenever those found are not the program's own, they are replaced.

// fingerprint is a hash of the definitions.
func fingerprint(list []calls.Definition) string {
	h := md5.New()
	for _, d := range list {
		h.Write([]byte(d.Create + ";\n"))
	}
	return hex.EncodeToString(h.Sum(nil))
}

// functionsMark is the function whose comment holds the fingerprint.
const functionsMark = "at_post"

// functionsFound returns the fingerprint of the functions in the database, "" where there are none.
func functionsFound(ctx context.Context, conn *pgx.Conn) (string, error) {
	var found string
	err := conn.QueryRow(ctx, `
		select coalesce(pg_catalog.min(pg_catalog.obj_description(p.oid, 'pg_proc')), '')
		from pg_catalog.pg_proc p
		where p.pronamespace = pg_catalog.to_regnamespace('mbus4') and p.proname = $1`, functionsMark).Scan(&found)
	if err != nil {
		return "", fmt.Errorf("looking for the functions of schema mbus4: %w", err)
	}
	return found, nil
}

// createFunctions creates the functions unless exactly these are there, and drops others whose names have the prefix.
func createFunctions(ctx context.Context, conn *pgx.Conn, list []calls.Definition) error {
	return inTurn(ctx, conn, func(tx pgx.Tx) error {
		if found, err := functionsFound(ctx, conn); err != nil || found == fingerprint(list) {
			return err
		}
		var signatures []string
		for _, d := range list {
			if _, err := tx.Exec(ctx, d.Create); err != nil {
				return fmt.Errorf("creating function mbus4.%s: %w", d.Name, err)
			}
			signatures = append(signatures, d.Signature)
			if d.Name == functionsMark {
				comment := "comment on function " + d.Signature + " is " + sqlfuncs.QuoteLiteral(fingerprint(list))
				if _, err := tx.Exec(ctx, comment); err != nil {
					return fmt.Errorf("noting the version of the functions: %w", err)
				}
			}
		}
		rows, err := tx.Query(ctx, `
			select 'drop function ' || p.oid::pg_catalog.regprocedure
			from pg_catalog.pg_proc p
			where p.pronamespace = pg_catalog.to_regnamespace('mbus4') and pg_catalog.starts_with(p.proname, $1)
			  and p.oid <> all (array(select pg_catalog.to_regprocedure(s)::oid from pg_catalog.unnest($2::text[]) s))`,
			calls.FunctionPrefix, signatures)
		if err != nil {
			return fmt.Errorf("looking for old functions: %w", err)
		}
		drops, err := pgx.CollectRows(rows, pgx.RowTo[string])
		if err != nil {
			return fmt.Errorf("looking for old functions: %w", err)
		}
		for _, drop := range drops {
			if _, err := tx.Exec(ctx, drop); err != nil {
				return fmt.Errorf("dropping an old function: %w", err)
			}
		}
		return nil
	})
}
