package statements

import (
	"testing"

	"mbusproxy/integration/internal/harness"
)

// TestStatementsDoNotSeeTheirOwnPosts: what a call inline does is seen from the next statement on, and is done also where the
// server folds the join that would read it.
func TestStatementsDoNotSeeTheirOwnPosts(t *testing.T) {
	t.Parallel()
	conn := harness.Connect(t, harness.Proxied(), harness.NewQueueDatabase(t, "q"))
	harness.Want(t, conn, "", "with p as (select mbus4.post('q', 'a=>1')) select m.data->'a' from p, mbus4.consume('q') m")
	harness.Want(t, conn, "0", "select count(*) from (select 1 where false) x cross join mbus4.consumen('q', amt => 10)")
	harness.Want(t, conn, "", "select iid from mbus4.consume('q')")
}
