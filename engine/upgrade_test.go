package engine

import (
	"testing"

	"go.uber.org/zap"
)

// A database made by the first version keeps its messages when it is upgraded.
func TestUpgrade(t *testing.T) {
	t.Parallel()
	name := newDatabase(t)
	conn := connect(t, name)
	steps, err := migrations(preparing{})
	if err != nil {
		t.Fatal(err)
	}
	var in installation
	var old Result
	if err := upgrade(testContext(t), conn, steps[:1], &in, &old, zap.NewNop()); err != nil || old.After != 1 {
		t.Fatalf("%+v, %v", old, err)
	}
	id := one[int](t, conn, newConsumer, "q")
	mustExec(t, conn, postSQL, id, "", "kept", "text")
	res, err := Init(testContext(t), cluster.DSN(name))
	if err != nil || res.Before != 1 || res.After != newest {
		t.Fatalf("%+v, %v", res, err)
	}
	if got := one[string](t, conn, "select iid from mbus4.message where after is null"); got != "kept" {
		t.Errorf("left: %s", got)
	}
}
