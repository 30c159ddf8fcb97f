package schema

import (
	"context"
	"fmt"
	"runtime/debug"
	"time"

	"github.com/jackc/pgx/v5"
	"go.uber.org/zap"

	"mbusproxy/engine/refusal"
	"mbusproxy/engine/selectors"
	"mbusproxy/rewrite/parse"
)

// Result says what was done to a database.
type Result struct {
	Database     string
	Before       int      // the schema's version found; 0: none
	After        int      // and the one it has now
	Pending      bool     // steps are left, for clients or another program were in their way; the schema can be used as it is
	HstoreSchema string   // where the extension hstore lives, quoted where needed
	Kept         int      // functions of other versions of the program that are in the database
	Warnings     []string // what could not be done and is not vital
}

// Options says what may be done to a database.
type Options struct {
	NoInit              bool // nothing may be created or changed
	DisableBadSelectors bool // selectors that are none any more select nothing
	Parser              *parse.Parser
	// Patience is how long steps wait for clients and for other programs where the schema can be used without them, and
	// after which they are left for later; so are indexes that are to be built. 0: as long as it takes.
	Patience time.Duration
	// Notify is told what goes on; nil: nobody is.
	Notify func(Event)

	steps []step // nil: allSteps
}

// Event is news of an upgrade.
type Event struct {
	Step   string // what is being done
	Number int    // which step it is, from 1
	Of     int    // how many there are
	// State says what happens. Progress is of Building only: a share from 0 to 1, or less than 0 if that is not known.
	State    State
	Progress float64
	Waiting  string // for whom, with Waiting
}

// State is where a step is.
type State int

// The states of a step. Building and Waiting may come repeatedly.
const (
	Begun    State = iota
	Waiting        // for transactions of clients, or for another program that upgrades
	Building       // an index
	Done
)

func (p Options) compiling(in *Installation) selectors.Compiling {
	return selectors.Compiling{Database: in.database, Role: in.role, Env: in.Env(), Parser: p.Parser, DisableBad: p.DisableBadSelectors}
}

func (p Options) tell(e Event) {
	if p.Notify != nil {
		p.Notify(e)
	}
}

func (p Options) allSteps() ([]step, error) {
	if p.steps != nil {
		return p.steps, nil
	}
	return allSteps()
}

// Prepare brings the database conn is connected to up to this program's schema, or with NoInit
// only checks that it can be used. Any number may run at once.
func Prepare(ctx context.Context, conn *pgx.Conn, how Options, log *zap.Logger) (Installation, Result, error) {
	steps, err := how.allSteps()
	if err != nil {
		return Installation{}, Result{}, err
	}
	newest := steps[len(steps)-1].version
	in, err := inspect(ctx, conn)
	if err != nil {
		return in, Result{}, err
	}
	in.newest = newest
	res := Result{Database: in.database, Before: in.version, After: in.version, HstoreSchema: in.hstoreSchema}
	if err := in.check(newest); err != nil {
		return in, res, err
	}
	if how.NoInit {
		return in, res, in.checkWithoutInit(newest)
	}
	if !in.complete(newest) {
		u := upgrade{conn: conn, how: how, steps: steps, in: &in, res: &res, log: log}
		err = u.run(ctx)
	}
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
	if err == nil {
		res.Kept = in.otherFunctions()
	}
	return in, res, err
}

// checkWithoutInit refuses a schema that is missing or too old where creating it is forbidden.
func (in Installation) checkWithoutInit(newest int) error {
	switch {
	case in.version == 0:
		return &refusal.Error{
			Code:    codeInvalidSchema,
			Message: fmt.Sprintf("database %q has no schema mbus4", in.database),
			Hint:    "Create it with: mbusproxy init",
		}
	case in.version < oldestServed:
		return &refusal.Error{
			Code: refusal.NotInRequiredState,
			Message: fmt.Sprintf("schema mbus4 of database %q has version %d, this mbusproxy needs version %d to %d",
				in.database, in.version, oldestServed, newest),
			Hint: "Upgrade it with: mbusproxy init",
		}
	case in.missesInline():
		return &refusal.Error{
			Code:    refusal.NotInRequiredState,
			Message: fmt.Sprintf("schema mbus4 of database %q lacks functions of this version of mbusproxy", in.database),
			Hint:    "Create them with: mbusproxy init",
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

// program names this build, for the table schema_version.
func program() string {
	if info, ok := debug.ReadBuildInfo(); ok && info.Main.Version != "" {
		return "mbusproxy " + info.Main.Version
	}
	return "mbusproxy"
}
