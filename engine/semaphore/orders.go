package semaphore

import (
	"context"
	_ "embed"
	"fmt"
	"strings"
	"text/template"
	"time"

	"github.com/jackc/pgx/v5"

	"mbusproxy/engine/calls"
	"mbusproxy/sqlfuncs"
)

// Events is the queue in which semaphores tell of grants and of requests to release.
const Events = "semaphore_events"

// orders are grants and requests to be carried out in one transaction.
type orders struct {
	fronts     map[int32]*front
	semaphores []int32 // with grants or requests
	actives    []int32 // their limit, on which the grants rest
	of         []int32 // for each order: semaphore, task, whether it is a grant
	tasks      []int64
	grants     []bool
}

func (o *orders) size() int { return len(o.tasks) }

func (o *orders) add(f *front, grant, ask []slotTask) {
	if len(grant)+len(ask) == 0 {
		return
	}
	if o.fronts == nil {
		o.fronts = map[int32]*front{}
	}
	o.fronts[f.id] = f
	o.semaphores = append(o.semaphores, f.id)
	o.actives = append(o.actives, int32(f.active))
	for i, t := range append(grant[:len(grant):len(grant)], ask...) {
		o.of = append(o.of, f.id)
		o.tasks = append(o.tasks, t.id)
		o.grants = append(o.grants, i < len(grant))
	}
}

//go:embed give.sql
var giveFile string

// giveTemplate is a text/template with the statements front and give.
var giveTemplate = template.Must(template.New("give.sql").Parse(giveFile))

// What a row of the answer to the statement front tells of.
const (
	rowLimit   = iota // a semaphore and its limits
	rowScanned        // a task that waits, from the floor on
	rowFresh          // a task that waits, before the floor
	rowChosen         // a task that is first in the order where a slot is free, but the limits of the semaphore do not hold
	rowLocked         // the same where they do
	rowGranted        // a task that has got a slot
)

// statements are those of a database.
type statements struct {
	front string // looks and grants
	fresh string // does so where there are fresh tasks
	give  string // carries out orders
}

// filled gives the statements, which are filled in once.
func (g *allocator) filled() statements {
	if g.sql.give == "" {
		g.sql = statements{front: g.fill("front", false), fresh: g.fill("front", true), give: g.fill("give", false)}
	}
	return g.sql
}

func (g *allocator) fill(name string, fresh bool) string {
	columns, post := g.texts.Posting(calls.Site{}, Events)
	var b strings.Builder
	err := giveTemplate.ExecuteTemplate(&b, name, map[string]any{
		"Columns": columns, "Hstore": sqlfuncs.BoundHstore, "Post": post, "Events": sqlfuncs.QuoteLiteral(Events),
		"Limit": rowLimit, "Scanned": rowScanned, "Fresh": rowFresh, "Chosen": rowChosen, "Locked": rowLocked, "Granted": rowGranted, "WithFresh": fresh,
	})
	if err != nil {
		panic(fmt.Sprintf("filling in give.sql: %v", err)) // a broken build
	}
	return b.String()
}

// give carries out orders. What it could not do, because rows were locked or have changed, it notes in the fronts.
func (g *allocator) give(ctx context.Context, conn *pgx.Conn, o *orders, out *turned) error {
	var (
		id            int32
		task, arrival *int64
		priority      *float64
		asked         *bool
		granted       []int32
		done          = make(map[int32]map[int64]bool, len(o.semaphores))
	)
	rows, err := conn.Query(ctx, g.filled().give, o.semaphores, o.actives, o.of, o.tasks, o.grants)
	if err == nil {
		_, err = pgx.ForEachRow(rows, []any{&id, &task, &priority, &arrival, &asked, nil}, func() error {
			if done[id] == nil {
				done[id] = map[int64]bool{}
			}
			if task == nil {
				return nil
			}
			o.fronts[id].slots.put(slotTask{id: *task, place: place{*priority, *arrival}, asked: *asked})
			if *asked {
				out.Asked++
			} else {
				out.Granted++
				g.size++
				granted = append(granted, id)
			}
			done[id][*task] = true
			return nil
		})
	}
	if err != nil {
		return fmt.Errorf("granting slots: %w", err)
	}
	now := time.Now()
	for _, id := range granted {
		g.noteGrant(id, now, out)
	}
	for i, id := range o.of {
		f := o.fronts[id]
		switch {
		case done[id] == nil:
			f.skipped = true
		case !done[id][o.tasks[i]]:
			f.refuse(o.tasks[i])
		}
	}
	g.quietFrom = time.Now()
	return nil
}
