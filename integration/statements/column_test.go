package statements

import (
	"fmt"
	"strings"
	"testing"

	"mbusproxy/integration/internal/harness"
)

// A column or an alias in an argument is the client's own, whatever the columns and aliases of
// the SQL that serves the call are named.
func TestNamesInArguments(t *testing.T) {
	t.Parallel()
	database := harness.NewQueueDatabase(t, "q")
	conn := harness.Connect(t, harness.Proxied(), database)
	harness.Ask(t, conn, "select mbus4.post('q', 'a=>1', iid => 'here')")
	columns := strings.Fields(harness.Ask(t, conn, `select string_agg(distinct quote_ident(attname), ' ') from pg_attribute
		where attnum > 0 and not attisdropped and attrelid in (select oid from pg_class where relnamespace = 'mbus4'::regnamespace)`))
	columns = append(columns, "qname", "cname", "msgid", "amt", "n", "h1")
	aliases := strings.Fields(harness.Ask(t, conn, "select string_agg(relname, ' ') from pg_class where relnamespace = 'mbus4'::regnamespace and relkind = 'r'"))
	for letter := 'a'; letter <= 'z'; letter++ {
		aliases = append(aliases, string(letter))
	}
	calls := []struct{ call, there, missing string }{
		{"mbus4.is_msg_exists(%s)", "t", "f"},
		{"mbus4.peek_q(%s)", "t", "f"},
		{"(mbus4.peek(%s)).iid", "here", harness.Null},
	}
	for _, c := range calls {
		expected := c.there + "\n" + c.missing
		for _, column := range columns {
			harness.Want(t, conn, expected, fmt.Sprintf("select "+c.call+" from (values ('here'), ('nowhere')) v(%s)", column, column))
		}
		for _, alias := range aliases {
			harness.Want(t, conn, expected, fmt.Sprintf("select "+c.call+" from (values ('here'), ('nowhere')) %s(iid)", alias+".iid", alias))
		}
	}
	for _, column := range columns {
		harness.Want(t, conn, "x\ny", fmt.Sprintf("select mbus4.post('q', hstore('v', %[1]s), iid => %[1]s) from (values ('x'), ('y')) v(%[1]s)", column))
		harness.Want(t, conn, "x\n"+harness.Null, fmt.Sprintf("select (mbus4.take(%[1]s)).iid from (values ('x'), ('nowhere')) v(%[1]s)", column))
		harness.Want(t, conn, "y|y", fmt.Sprintf("select (r).iid, (r).data->'v' from (select mbus4.take_from_q_by_default(%[1]s) r from (values ('y')) v(%[1]s)) s", column))
	}
}
