package semaphore

import (
	"context"
	"slices"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"mbusproxy/engine/internal/enginetest"

	"mbusproxy/engine/internal/service"
)

// What the tests that open engines, which stand outside the package, use of its inside.

// SlotTask is a task as ReadTasks gives it.
type SlotTask = slotTask

// ID is the task's number.
func (t slotTask) ID() int64 { return t.id }

// Asked reports whether the task was asked to leave.
func (t slotTask) Asked() bool { return t.asked }

// Sleep lets d pass, or less when ctx ends.
func Sleep(ctx context.Context, d time.Duration) { service.Sleep(ctx, d) }

// Unrest says what the rules would have done next; "" for nothing.
func Unrest(active, tryRelease int, running, waiting []slotTask) string {
	return unrest(active, tryRelease, running, waiting)
}

// RunningTaskSQL gives a running task of semaphore $1, or $2.
const RunningTaskSQL = `select coalesce((select t.task_id from mbus4.semaphore_task t join mbus4.semaphore s on s.id = t.semaphore_id
	where s.key = $1 and t.status <> 'WAIT' order by random() limit 1), $2::bigint)`

// ReadTasks reads the tasks of a semaphore, in order.
func ReadTasks(t *testing.T, conn *pgx.Conn, key string) (running, waiting []slotTask) {
	rows, err := conn.Query(enginetest.Context(t), `select t.task_id, t.priority, t.arrival, t.status::text from mbus4.semaphore_task t
		join mbus4.semaphore s on s.id = t.semaphore_id where s.key = $1`, key)
	if err != nil {
		t.Fatal(err)
	}
	var task slotTask
	var status string
	_, err = pgx.ForEachRow(rows, []any{&task.id, &task.priority, &task.arrival, &status}, func() error {
		if task.asked = status == "TRY_RELEASE"; status == "WAIT" {
			waiting = append(waiting, task)
		} else {
			running = append(running, task)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	slices.SortFunc(running, slotTask.compare)
	slices.SortFunc(waiting, slotTask.compare)
	return running, waiting
}
