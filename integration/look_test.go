package integration

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5/pgconn"
)

// serverMajor asks which Postgres it is.
func serverMajor(t *testing.T) int {
	t.Helper()
	major, err := strconv.Atoi(ask(t, connect(t, direct(), "postgres"), "select current_setting('server_version_num')::int / 10000"))
	if err != nil {
		t.Fatal(err)
	}
	return major
}

// columnsText is names and types of columns.
func columnsText(t *testing.T, conn *pgconn.PgConn, fields []pgconn.FieldDescription) string {
	t.Helper()
	var columns []string
	for _, f := range fields {
		columns = append(columns, f.Name+" "+ask(t, conn, fmt.Sprintf("select %d::oid::regtype", f.DataTypeOID)))
	}
	return strings.Join(columns, ", ")
}

// oidsText is the names of types, such as those of parameters.
func oidsText(t *testing.T, conn *pgconn.PgConn, oids []uint32) string {
	t.Helper()
	var types []string
	for _, oid := range oids {
		types = append(types, ask(t, conn, fmt.Sprintf("select %d::oid::regtype", oid)))
	}
	return strings.Join(types, " ")
}

// pagesTouched runs a statement, in a transaction that is rolled back, and counts the pages it looks at.
func pagesTouched(t *testing.T, conn *pgconn.PgConn, sql string) float64 {
	t.Helper()
	ask(t, conn, "begin")
	text := ask(t, conn, "explain (analyze, buffers, format json) "+sql)
	ask(t, conn, "rollback")
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
