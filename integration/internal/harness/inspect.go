package harness

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5/pgconn"
)

// ServerMajor asks which Postgres it is.
func ServerMajor(t *testing.T) int {
	t.Helper()
	major, err := strconv.Atoi(Ask(t, Connect(t, Direct(), "postgres"), "select current_setting('server_version_num')::int / 10000"))
	if err != nil {
		t.Fatal(err)
	}
	return major
}

// ColumnsText is names and types of columns.
func ColumnsText(t *testing.T, conn *pgconn.PgConn, fields []pgconn.FieldDescription) string {
	t.Helper()
	var columns []string
	for _, f := range fields {
		columns = append(columns, f.Name+" "+Ask(t, conn, fmt.Sprintf("select %d::oid::regtype", f.DataTypeOID)))
	}
	return strings.Join(columns, ", ")
}

// OIDsText is the names of types, such as those of parameters.
func OIDsText(t *testing.T, conn *pgconn.PgConn, oids []uint32) string {
	t.Helper()
	var types []string
	for _, oid := range oids {
		types = append(types, Ask(t, conn, fmt.Sprintf("select %d::oid::regtype", oid)))
	}
	return strings.Join(types, " ")
}

// PagesTouched runs a statement, in a transaction that is rolled back, and counts the pages it looks at.
func PagesTouched(t *testing.T, conn *pgconn.PgConn, sql string) float64 {
	t.Helper()
	Ask(t, conn, "begin")
	text := Ask(t, conn, "explain (analyze, buffers, format json) "+sql)
	Ask(t, conn, "rollback")
	var plans []struct {
		Plan map[string]any
	}
	if err := json.Unmarshal([]byte(text), &plans); err != nil || len(plans) != 1 {
		t.Fatalf("plan of %s: %v\n%s", sql, err, text)
	}
	var sum float64
	for _, kind := range []string{"Shared Hit Blocks", "Shared Read Blocks"} {
		n, ok := plans[0].Plan[kind].(float64)
		if !ok {
			t.Fatalf("no %q in the plan of %s", kind, sql)
		}
		sum += n
	}
	return sum
}
