package schema

import (
	"context"
	"fmt"
	"slices"
	"sync"

	"github.com/jackc/pgx/v5"

	"mbusproxy/engine/calls"
)

// The functions in the database that serve calls in place, see engine/calls/stored.go, belong to
// the program, not to a version of the schema. Their names say what they do, so they are made
// beside those of other programs and never replaced. They are dropped only where an operator says
// that no other program uses the database (PruneFunctions).

// functionsFound lists the names of the functions in the database, whichever program made them.
func functionsFound(ctx context.Context, conn *pgx.Conn) ([]string, error) {
	rows, err := conn.Query(ctx, `
		select p.proname::text
		from pg_catalog.pg_proc p
		where p.pronamespace = pg_catalog.to_regnamespace('mbus4') and pg_catalog.starts_with(p.proname, $1)`, calls.FunctionPrefix)
	if err != nil {
		return nil, fmt.Errorf("looking for the functions of schema mbus4: %w", err)
	}
	found, err := pgx.CollectRows(rows, pgx.RowTo[string])
	if err != nil {
		return nil, fmt.Errorf("looking for the functions of schema mbus4: %w", err)
	}
	return found, nil
}

// definitions are the functions of this program, which take some milliseconds to fill in.
var definitions = sync.OnceValue(func() []calls.Definition { return calls.New().Definitions() })

// missingFunctions lists what this program needs and the database does not have.
func (in Installation) missingFunctions() []calls.Definition {
	return slices.DeleteFunc(slices.Clone(definitions()), func(d calls.Definition) bool { return slices.Contains(in.functions, d.Name) })
}

// missesInline reports whether a function is missing without which no call can be served.
func (in Installation) missesInline() bool {
	return slices.ContainsFunc(in.missingFunctions(), func(d calls.Definition) bool { return d.Inline })
}

// createFunctions creates the functions that are missing.
func createFunctions(ctx context.Context, conn *pgx.Conn, in *Installation) error {
	return inTurn(ctx, conn, func(tx pgx.Tx) (err error) {
		if in.functions, err = functionsFound(ctx, conn); err != nil {
			return err
		}
		for _, d := range in.missingFunctions() {
			if _, err := tx.Exec(ctx, d.Create); err != nil {
				return fmt.Errorf("creating function mbus4.%s: %w", d.Name, err)
			}
		}
		_, err = checkTrust(ctx, conn, in)
		return err
	})
}

// PruneFunctions drops the functions that other versions of the program made, and gives their
// number. Those that views of mbus4.create_view use stay. A program of such a version that still
// serves the database makes them again when it next opens it; until then its calls in WHERE and the
// like fail.
func PruneFunctions(ctx context.Context, conn *pgx.Conn) (dropped int, err error) {
	if _, err := identify(ctx, conn); err != nil {
		return 0, err
	}
	var ours []string
	for _, d := range definitions() {
		ours = append(ours, d.Name)
	}
	err = inTurn(ctx, conn, func(tx pgx.Tx) error {
		rows, err := tx.Query(ctx, `
			select 'drop function ' || p.oid::pg_catalog.regprocedure
			from pg_catalog.pg_proc p
			where p.pronamespace = pg_catalog.to_regnamespace('mbus4') and pg_catalog.starts_with(p.proname, $1) and p.proname <> all ($2)
			  and not exists (select from pg_catalog.pg_proc v where v.pronamespace = pg_catalog.to_regnamespace('mbus4_views') and pg_catalog.strpos(v.prosrc, p.proname) > 0)`,
			calls.FunctionPrefix, ours)
		if err != nil {
			return err
		}
		drops, err := pgx.CollectRows(rows, pgx.RowTo[string])
		if err != nil {
			return err
		}
		for _, drop := range drops {
			if _, err := tx.Exec(ctx, drop); err != nil {
				return err
			}
		}
		dropped = len(drops)
		return nil
	})
	if err != nil {
		return 0, fmt.Errorf("dropping functions of other versions: %w", err)
	}
	return dropped, nil
}
