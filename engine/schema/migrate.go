package schema

import (
	"context"
	"embed"
	"fmt"
	"io/fs"
	"runtime/debug"
	"strconv"
	"strings"
	"text/template"

	"github.com/jackc/pgx/v5"
	"go.uber.org/zap"

	"mbusproxy/engine/calls"
	"mbusproxy/engine/refusal"
	"mbusproxy/engine/selectors"
	"mbusproxy/rewrite/parse"
)

//go:embed migrations/*.sql
var migrationFiles embed.FS

// HintSlots is the number of hint sequences; consumers share them by id modulo this number. The
// calls' SQL knows the number too: changing it is a migration.
const HintSlots = 128

// selectorRowsVersion is the version of the schema from which on selectors are rows.
const selectorRowsVersion = 13

// Result says what Init did.
type Result struct {
	Database     string
	Before       int      // the schema's version found; 0: none
	After        int      // and the one it has now
	HstoreSchema string   // where the extension hstore lives, quoted where needed
	Warnings     []string // what could not be done and is not vital
}

// migration is one numbered change of the schema.
type migration struct {
	version int
	name    string // of its file, for messages
	text    string // a text/template of several statements
	// after does what SQL alone cannot, in the migration's transaction; nil: nothing.
	after func(ctx context.Context, tx pgx.Tx, in *Installation, res *Result) error
}

// migrations lists all migrations in order. The files are named <version>_<what>.sql, without gaps. how is for the one that
// compiles selectors.
func migrations(how Options) ([]migration, error) {
	names, err := fs.Glob(migrationFiles, "migrations/*.sql") // sorted
	if err != nil {
		return nil, fmt.Errorf("listing migrations: %w", err)
	}
	steps := make([]migration, 0, len(names))
	for i, name := range names {
		base := strings.TrimPrefix(name, "migrations/")
		number, _, _ := strings.Cut(base, "_")
		version, err := strconv.Atoi(number)
		if err != nil || version != i+1 {
			return nil, fmt.Errorf("migration %s: want the number %04d", base, i+1)
		}
		text, err := migrationFiles.ReadFile(name)
		if err != nil {
			return nil, fmt.Errorf("reading migration %s: %w", base, err)
		}
		steps = append(steps, migration{version: version, name: base, text: string(text)})
	}
	steps[selectorRowsVersion-1].after = func(ctx context.Context, tx pgx.Tx, in *Installation, res *Result) error {
		warnings, err := selectors.MakeRows(ctx, tx, how.compiling(in))
		res.Warnings = append(res.Warnings, warnings...)
		return err
	}
	return steps, nil
}

// templateData is what migrations and grants may refer to.
type templateData struct {
	Hstore string // quoted
	Slots  []int
}

func expand(name, text, hstoreSchema string) (string, error) {
	data := templateData{Hstore: hstoreSchema}
	for slot := range HintSlots {
		data.Slots = append(data.Slots, slot)
	}
	parsed, err := template.New(name).Parse(text)
	if err != nil {
		return "", fmt.Errorf("reading %s: %w", name, err)
	}
	var b strings.Builder
	if err := parsed.Execute(&b, data); err != nil {
		return "", fmt.Errorf("filling in %s: %w", name, err)
	}
	return b.String(), nil
}

// Options says what may be done to a database.
type Options struct {
	NoInit              bool // nothing may be created or changed
	DisableBadSelectors bool // selectors that are none any more select nothing
	Parser              *parse.Parser
}

func (p Options) compiling(in *Installation) selectors.Compiling {
	return selectors.Compiling{Database: in.database, Role: in.role, Env: in.Env(), Parser: p.Parser, DisableBad: p.DisableBadSelectors}
}

// Prepare brings the database conn is connected to up to this program's schema, or with NoInit
// only checks that it has it. Any number may run at once.
func Prepare(ctx context.Context, conn *pgx.Conn, how Options, log *zap.Logger) (Installation, Result, error) {
	steps, err := migrations(how)
	if err != nil {
		return Installation{}, Result{}, err
	}
	want := steps[len(steps)-1].version
	in, err := inspect(ctx, conn)
	if err != nil {
		return in, Result{}, err
	}
	res := Result{Database: in.database, Before: in.version, After: in.version, HstoreSchema: in.hstoreSchema}
	if err := in.check(want); err != nil {
		return in, res, err
	}
	if how.NoInit {
		return in, res, in.checkWithoutInit(want)
	}
	if in.complete(want) {
		return in, res, nil
	}

	err = upgrade(ctx, conn, steps, &in, &res, log)
	if err == nil && in.stale {
		err = inTurn(ctx, conn, func(tx pgx.Tx) error {
			warnings, err := selectors.Renew(ctx, tx, how.compiling(&in))
			res.Warnings = append(res.Warnings, warnings...)
			return err
		})
		if err != nil {
			err = refusal.Wrap("compiling the selectors again", err)
		}
	}
	in.stale = in.stale && err != nil
	return in, res, err
}

// checkWithoutInit refuses a schema that is missing or old where creating it is forbidden.
func (in Installation) checkWithoutInit(want int) error {
	switch {
	case in.version == 0:
		return &refusal.Error{
			Code:    codeInvalidSchema,
			Message: fmt.Sprintf("database %q has no schema mbus4", in.database),
			Hint:    "Create it with: mbusproxy init",
		}
	case in.version < want:
		return &refusal.Error{
			Code: refusal.NotInRequiredState,
			Message: fmt.Sprintf("schema mbus4 of database %q has version %d, this mbusproxy needs version %d",
				in.database, in.version, want),
			Hint: "Upgrade it with: mbusproxy init",
		}
	case in.stale:
		return &refusal.Error{
			Code:    refusal.NotInRequiredState,
			Message: fmt.Sprintf("the selectors in schema mbus4 of database %q were compiled by an older program or for another server", in.database),
			Hint:    "Have them compiled again with: mbusproxy init",
		}
	}
	return nil
}

// upgrade runs the missing migrations, each in its own transaction, and grants what is missing. Any number of
// proxies may do so at once: the transactions take turns, and each looks first what others have done.
func upgrade(ctx context.Context, conn *pgx.Conn, steps []migration, in *Installation, res *Result, log *zap.Logger) error {
	if err := bootstrap(ctx, conn, in); err != nil {
		return err
	}
	fresh, err := inspect(ctx, conn)
	if err != nil {
		return err
	}
	*in = fresh
	want := steps[len(steps)-1].version
	if err := in.check(want); err != nil {
		return err
	}
	res.Before, res.After = in.version, in.version
	for _, step := range steps {
		if step.version <= in.version {
			continue
		}
		ran := false
		err := inTurn(ctx, conn, func(tx pgx.Tx) (err error) {
			ran, err = runMigration(ctx, tx, step, in, res)
			return err
		})
		if err != nil {
			return refusal.Wrap("installing migration "+step.name+" of schema mbus4", err)
		}
		res.After = max(res.After, step.version)
		if ran {
			log.Info("schema mbus4 migrated", zap.String("database", in.database), zap.String("step", step.name))
		}
	}
	res.HstoreSchema = in.hstoreSchema
	if err := createFunctions(ctx, conn, calls.New().Definitions(in.hstoreSchema)); err != nil {
		res.Warnings = append(res.Warnings, fmt.Sprintf("functions for calls in WHERE and the like not created: %v", err))
	}
	if !in.granted || res.After != res.Before {
		res.Warnings = append(res.Warnings, grantRights(ctx, conn, res.Before == 0)...)
	}
	for _, w := range res.Warnings {
		log.Warn("schema mbus4 is not complete", zap.String("database", in.database), zap.String("problem", w))
	}
	fresh, err = inspect(ctx, conn)
	if err != nil {
		return err
	}
	*in = fresh
	return in.check(want)
}

// inTurn runs a transaction that changes the schema; others that do so wait for its end.
func inTurn(ctx context.Context, conn *pgx.Conn, do func(pgx.Tx) error) error {
	return pgx.BeginFunc(ctx, conn, func(tx pgx.Tx) error {
		// Another upgrade takes as long as it takes; clients are not waited for, nor kept waiting, for long.
		for _, sql := range []string{`set local lock_timeout = 0`, lockUpgradeSQL, `set local lock_timeout = '10s'`} {
			if _, err := tx.Exec(ctx, sql); err != nil {
				return fmt.Errorf("locking schema mbus4: %w", err)
			}
		}
		return do(tx)
	})
}

// runMigration runs a migration unless that has been done, and reports whether it ran.
func runMigration(ctx context.Context, tx pgx.Tx, step migration, in *Installation, res *Result) (ran bool, err error) {
	var done bool
	if err := tx.QueryRow(ctx, `select pg_catalog.to_regclass('mbus4.schema_version') is not null`).Scan(&done); err != nil {
		return false, fmt.Errorf("looking for schema mbus4: %w", err)
	}
	if done {
		err := tx.QueryRow(ctx, `select coalesce(pg_catalog.max(version) >= $1, false) from mbus4.schema_version`, step.version).Scan(&done)
		if err != nil {
			return false, fmt.Errorf("reading the version of schema mbus4: %w", err)
		}
	}
	if step.version == 1 {
		if err := findHstore(ctx, tx, in, !done); err != nil {
			return false, err
		}
	}
	if done {
		return false, nil
	}
	text, err := expand(step.name, step.text, in.hstoreSchema)
	if err != nil {
		return false, err
	}
	// Several statements at once: only the simple protocol takes them.
	if _, err := tx.Conn().PgConn().Exec(ctx, text).ReadAll(); err != nil {
		if refusal.SQLState(err) == refusal.LackingRights {
			refused := lackingRights(*in)
			refused.Err = err
			return false, refused
		}
		return false, err
	}
	if step.after != nil {
		if err := step.after(ctx, tx, in, res); err != nil {
			return false, err
		}
	}
	_, err = tx.Exec(ctx, `insert into mbus4.schema_version (version, program) values ($1, $2)`, step.version, program())
	return err == nil, err
}

// program names this build, for the table schema_version.
func program() string {
	if info, ok := debug.ReadBuildInfo(); ok && info.Main.Version != "" {
		return "mbusproxy " + info.Main.Version
	}
	return "mbusproxy"
}
