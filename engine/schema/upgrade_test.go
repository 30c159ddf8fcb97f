package schema_test

import (
	"strings"
	"testing"

	"mbusproxy/engine"
	"mbusproxy/engine/internal/enginetest"
)

// A schema that a program from before the first release made is refused and left as it is.
func TestInitRefusesUnreleasedSchema(t *testing.T) {
	t.Parallel()
	name := enginetest.NewDatabase(t)
	conn := enginetest.Connect(t, name)
	enginetest.Exec(t, conn, "create schema mbus4")
	enginetest.Exec(t, conn, "create table mbus4.schema_version (version int primary key, applied timestamptz default now(), program text not null)")
	enginetest.Exec(t, conn, "insert into mbus4.schema_version (version, program) values (17, 'early')")
	_, err := engine.Init(enginetest.Context(t), enginetest.DSN(name))
	if e := enginetest.Refused(t, err, "55000"); !strings.Contains(e.Message, "before its first release") || !strings.Contains(e.Hint, "drop the schemas") {
		t.Errorf("got %v, hint %s", e, e.Hint)
	}
	if n := enginetest.One[int](t, conn, "select count(*) from pg_class where relnamespace = 'mbus4'::regnamespace and relkind = 'r'"); n != 1 {
		t.Errorf("%d tables", n)
	}
}
