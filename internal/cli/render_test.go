package cli

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"
	"time"
	"unicode/utf8"
)

func ptr(s string) *string { return &s }

// hostile holds what terminals obey or hide: escape sequences of seven and eight bits, the end of a
// line, backspace, marks that turn the direction, marks without width, a tag character, and bytes
// that are no UTF-8.
const hostile = "a\x1b]0;owned\x07\x1b[2J\x9b31m\u009b31m\r\n\t\b\x7f\u202etxt\u200b\u2028\U000e0041\xff"

func TestVisible(t *testing.T) {
	t.Parallel()
	want := `a\x1b]0;owned\x07\x1b[2J\x9b31m\u009b31m\r\n\t\x08\x7f\u202etxt\u200b\u2028\U000e0041\xff`
	if got := Visible(hostile); got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	for _, plain := range []string{"", "orders.app.1", `a\b"c"`, "Ümläut 中文 👍🏽", "e\u0301"} {
		if got := Visible(plain); got != plain {
			t.Errorf("%q became %q", plain, got)
		}
	}
}

// obeyed are the runes of a text that a terminal would not show.
func obeyed(text string) (found []rune) {
	for _, r := range text {
		if r != '\n' && hidden(r) {
			found = append(found, r)
		}
	}
	if !utf8.ValidString(text) {
		found = append(found, utf8.RuneError)
	}
	return found
}

func sample() *Result {
	return &Result{
		Columns: []Column{{"name", text}, {"n", number}, {"on", boolean}, {"doc", document}, {"at", moment}, {"data", pairs}, {"list", texts}, {"ids", numbers}, {"none", text}},
		Rows: [][]*string{
			{ptr("a"), ptr("5"), ptr("t"), ptr(`{"a": [1, "\u009b"]}`), ptr("2026-01-31 09:05:00.12+00"), ptr(`"a"=>"1", "b"=>NULL`), ptr(`{x,"y z",NULL}`), ptr("{1,NULL,3}"), nil},
			{ptr(strings.ToValidUTF8(hostile, "")), ptr("NaN"), ptr("f"), ptr("null"), ptr("infinity"), ptr(`"` + "\x1b" + `"=>"<"`), ptr("{}"), ptr("{}"), nil},
		},
	}
}

func TestJSON(t *testing.T) {
	t.Parallel()
	var b bytes.Buffer
	if err := (Out{W: &b, Format: JSON}).write(sample()); err != nil {
		t.Fatal(err)
	}
	if found := obeyed(b.String()); found != nil {
		t.Errorf("a terminal would obey %q in\n%s", found, &b)
	}
	var rows []map[string]any
	if err := json.Unmarshal(b.Bytes(), &rows); err != nil {
		t.Fatalf("%v in\n%s", err, &b)
	}
	if rows[1]["name"] != strings.ToValidUTF8(hostile, "") {
		t.Errorf("it comes back as %q", rows[1]["name"])
	}
	first, _, _ := strings.Cut(strings.TrimPrefix(b.String(), "[\n"), "\n")
	want := `  {"name": "a", "n": 5, "on": true, "doc": {"a":[1,"\u009b"]}, "at": "2026-01-31T09:05:00.12+00:00", "data": {"a":"1","b":null}, "list": ["x","y z",null], "ids": [1,null,3], "none": null},`
	if first != want {
		t.Errorf("got  %s\nwant %s", first, want)
	}
	if rows[1]["n"] != "NaN" || rows[1]["at"] != "infinity" {
		t.Errorf("%v, %v", rows[1]["n"], rows[1]["at"])
	}
	b.Reset()
	if err := (Out{W: &b, Format: JSON}).write(&Result{Columns: sample().Columns}); err != nil || b.String() != "[]\n" {
		t.Errorf("nothing is %q, %v", &b, err)
	}
}

func TestTableAndCSV(t *testing.T) {
	t.Parallel()
	var table, file, shown, cut bytes.Buffer
	for _, o := range []Out{{W: &table, Format: Table}, {W: &file, Format: CSV}, {W: &shown, Format: CSV, Terminal: true}, {W: &cut, Format: Table, Terminal: true, Width: 20}} {
		if err := o.write(sample()); err != nil {
			t.Fatal(err)
		}
	}
	lines := strings.Split(table.String(), "\n")
	if obeyed(table.String()) != nil || len(lines) != 4 || !strings.HasPrefix(lines[0], "name ") || strings.Contains(lines[0], "none") || !strings.Contains(lines[1], "  5  yes  {") {
		t.Errorf("got\n%s", &table)
	}
	if strings.Count(shown.String(), "\n") != 3 || obeyed(shown.String()) != nil {
		t.Errorf("a terminal would obey %q", shown.String())
	}
	if !strings.Contains(file.String(), "\x1b[2J") {
		t.Error("a file does not get what was there")
	}
	for line := range strings.Lines(cut.String()) {
		if n := utf8.RuneCountInString(strings.TrimSuffix(line, "\n")); n > 20 {
			t.Errorf("%d columns: %s", n, line)
		}
	}
}

// TestCut: what is as wide as two columns, and what is put together of several runes, is cut between, never within.
func TestCut(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		line  string
		limit int
		want  string
	}{{"abcdef", 6, "abcdef"}, {"abcdefg", 6, "abcde…"}, {"中文中文", 6, "中文…"}, {"ae\u0301bcd", 4, "ae\u0301b…"}, {"abc", 0, "abc"}} {
		if got := cut(c.line, c.limit); got != c.want {
			t.Errorf("%q at %d: %q, want %q", c.line, c.limit, got, c.want)
		}
	}
}

func TestFrame(t *testing.T) {
	t.Parallel()
	at := time.Date(2026, 1, 31, 9, 5, 0, 0, time.UTC)
	columns := []Column{{Name: "queue"}, {Name: "ready"}, {Name: "delayed"}, {Name: "waiting"}, {Name: "leased"}, {Name: "held"}, {Name: "dead"}, {Name: "oldest_seconds"}, {Name: "paused"}, {Name: "exact"}}
	shot := func(at time.Time, ready string) *snapshot {
		r := &Result{Columns: columns}
		for _, name := range []string{"orders", "a\x1b[2J", strings.Repeat("x", 32), "last"} {
			r.Rows = append(r.Rows, []*string{ptr(name), ptr(ready), ptr("1"), ptr("2"), ptr("3"), ptr("4"), ptr("5"), ptr("7300"), ptr("t"), ptr("f")})
		}
		return &snapshot{
			at: at, queues: r,
			rates:    &Result{Columns: []Column{{Name: "over"}, {Name: "posted_per_second"}, {Name: "removed_per_second"}}, Rows: [][]*string{{ptr("00:01:00"), ptr("12.34"), nil}, {ptr("00:15:00"), ptr("5"), ptr("4.96")}}},
			sessions: &Result{Columns: []Column{{Name: "database"}, {Name: "sessions"}, {Name: "active"}, {Name: "in_transaction"}}, Rows: [][]*string{{ptr("app"), ptr("7"), ptr("1"), ptr("2")}}},
		}
	}
	lines := frame(shot(at.Add(2*time.Second), "30"), shot(at, "10"), 80, 8)
	want := []string{
		"mbusproxy top   database app   09:05:02",
		"sessions 7, active 1, idle in transaction 2",
		"posted 12.3 5.0 /s   removed - 5.0 /s   over 1 15 min",
		"",
		"QUEUE                READY     +-/S DELAYED WAITING LEASED  HELD  DEAD OLDEST",
		"orders                 ~30     10.0       1       2      3     4     5 2h paused",
		`a\x1b[2J               ~30     10.0       1       2      3     4     5 2h paused`,
		"… and 2 more",
	}
	if got := strings.Join(lines, "\n"); got != strings.Join(want, "\n") {
		t.Errorf("got\n%s", got)
	}
	waits := NewResult([]string{"queue", "consumer"}, "calls", "longest_seconds")
	for _, row := range [][]string{{"orders", "default", "120", "300"}, {"a\x1b[2J", "billing", "3", "7"}, {"", "", "2", "1"}, {"last", "default", "1", "0"}} {
		waits.Append(row...)
	}
	waiting := shot(at, "1")
	waiting.waits = waits
	want = []string{
		"CALLS WAIT FOR       CALLS LONGEST",
		"orders                 120 5m",
		`a\x1b[2J by bill…        3 7s`,
		"… and 2 more",
		"",
	}
	if got := frame(waiting, nil, 80, 12)[4:9]; strings.Join(got, "\n") != strings.Join(want, "\n") {
		t.Errorf("got\n%s", strings.Join(got, "\n"))
	}
	if got := strings.Join(frame(waiting, nil, 80, 0), "\n"); !strings.Contains(got, "(a message each)         2 1s\nlast                     1 0s\n\nQUEUE") {
		t.Errorf("got\n%s", got)
	}
	if got := frame(waiting, nil, 80, 2); len(got) < 9 || got[6] != "… and 3 more" {
		t.Errorf("got\n%s", strings.Join(got, "\n"))
	}
	for _, line := range append(frame(shot(at, "1"), nil, 80, 0), frame(waiting, nil, 80, 0)...) {
		if utf8.RuneCountInString(line) > 80 || obeyed(line) != nil {
			t.Errorf("%q", line)
		}
	}
}
