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

// The schema's first version is made by the files in baseline, in the order of their names and in one transaction. Each later
// version is made by one step: steps/<version>_<what>.sql, beginning with 0002.

//go:embed baseline/*.sql
var baselineFiles embed.FS

//go:embed steps/*.sql
var stepFiles embed.FS

// HintSlots is the number of hint sequences; consumers share them by id modulo this number. The
// calls' SQL knows the number too: changing it is a step.
const HintSlots = 128

// baselineVersion is the version of the schema that baseline makes.
const baselineVersion = 1

// Result says what Init did.
type Result struct {
	Database     string
	Before       int      // the schema's version found; 0: none
	After        int      // and the one it has now
	HstoreSchema string   // where the extension hstore lives, quoted where needed
	Warnings     []string // what could not be done and is not vital
}

// step is one numbered change of the schema.
type step struct {
	version int
	name    string // of its file, for messages
	text    string // a text/template of several statements
}

// allSteps lists the steps in order, the baseline first.
func allSteps() ([]step, error) {
	var baseline strings.Builder
	names, err := fs.Glob(baselineFiles, "baseline/*.sql") // sorted
	if err != nil {
		return nil, fmt.Errorf("listing the baseline: %w", err)
	}
	for _, name := range names {
		text, err := baselineFiles.ReadFile(name)
		if err != nil {
			return nil, fmt.Errorf("reading %s: %w", name, err)
		}
		baseline.Write(text)
	}
	steps := []step{{version: baselineVersion, name: "baseline", text: baseline.String()}}
	names, err = fs.Glob(stepFiles, "steps/*.sql")
	if err != nil {
		return nil, fmt.Errorf("listing steps: %w", err)
	}
	for i, name := range names {
		base := strings.TrimPrefix(name, "steps/")
		number, _, _ := strings.Cut(base, "_")
		version, err := strconv.Atoi(number)
		if err != nil || version != baselineVersion+1+i {
			return nil, fmt.Errorf("step %s: want the number %04d", base, baselineVersion+1+i)
		}
		text, err := stepFiles.ReadFile(name)
		if err != nil {
			return nil, fmt.Errorf("reading step %s: %w", base, err)
		}
		steps = append(steps, step{version: version, name: base, text: string(text)})
	}
	return steps, nil
}

// templateData is what steps and grants may refer to.
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
	steps, err := allSteps()
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

// upgrade runs the missing steps, each in its own transaction, and grants what is missing. Any number of
// proxies may do so at once: the transactions take turns, and each looks first what others have done.
func upgrade(ctx context.Context, conn *pgx.Conn, steps []step, in *Installation, res *Result, log *zap.Logger) error {
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
			ran, err = runStep(ctx, tx, step, in)
			return err
		})
		if err != nil {
			return refusal.Wrap("installing step "+step.name+" of schema mbus4", err)
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

// runStep runs a step unless that has been done, and reports whether it ran.
func runStep(ctx context.Context, tx pgx.Tx, step step, in *Installation) (ran bool, err error) {
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
	_, err = tx.Exec(ctx, `insert into mbus4.schema_version (version, oldest, program) values ($1, $2, $3)`, step.version, baselineVersion, program())
	return err == nil, err
}

// program names this build, for the table schema_version.
func program() string {
	if info, ok := debug.ReadBuildInfo(); ok && info.Main.Version != "" {
		return "mbusproxy " + info.Main.Version
	}
	return "mbusproxy"
}
