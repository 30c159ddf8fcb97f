package layout

import (
	"strings"
	"testing"
)

func TestSQL(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("x", 70)
	for sql, want := range map[string]string{
		"select 1  from t":    "select 1 from t",
		"select $ /* c */":    "select $",
		"select a operator(b": "select a operator(b",
		"with a as (select " + long + " from t where a = 1), b as (delete from t returning " + long + ") select 'a  b' from a": "with a as (select " + long + " from t where a = 1),\n" +
			"b as (delete from t returning " + long + ")\nselect 'a  b'\nfrom a",
		"select " + long + ", " + long:               "select " + long + ",\n    " + long,
		"select f(" + long + "," + long + ",1::int)": "select f(\n    " + long + ",\n    " + long + ",\n    1::int\n)",
	} {
		if got, ok := SQL(sql); got != want || !ok {
			t.Errorf("%s became\n%s\nwant\n%s", sql, got, want)
		}
	}
}

// What is no SQL stays as it is.
func TestSQLKeepsWhatItCannotRead(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("x", 200)
	for _, text := range []string{
		"select (" + long, "select " + long + ") from t", "select '" + long, "select [a)",
		"select 'select (" + long + "'",
	} {
		if got, ok := SQL(text); ok || got != text {
			t.Errorf("%s became\n%s", text, got)
		}
	}
}
