package integration

import (
	"fmt"
	"os"
	"regexp"
	"strings"
	"testing"
)

var docExample = regexp.MustCompile("(?s)```sql\n(.*?)```\n\n```text\n(.*?)```\n")

// The examples of docs/work-queue.md give what stands below them, in one session of psql.
func TestWorkQueueDocs(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("../docs/work-queue.md")
	if err != nil {
		t.Fatal(err)
	}
	examples := docExample.FindAllStringSubmatch(string(text), -1)
	if len(examples) < 9 || len(examples) != strings.Count(string(text), "```sql") {
		t.Fatalf("%d examples with their output, of %d", len(examples), strings.Count(string(text), "```sql"))
	}
	var script strings.Builder
	for i, e := range examples {
		fmt.Fprintf(&script, "%s\\echo --mark %d--\n", e[1], i)
	}
	path, _ := psqlTool(t)
	got := run(t, []string{"PAGER=", "PGOPTIONS="}, script.String(), "", "sh", "-c", `exec "$0" -X -d "$1" 2>&1`, path, proxied.url(newDatabase(t)))
	rest := got.stdout
	for i, e := range examples {
		output, behind, found := strings.Cut(rest, fmt.Sprintf("--mark %d--\n", i))
		if !found {
			t.Fatalf("no output of %q in %q", e[1], rest)
		}
		rest = behind
		if trim(output) != trim(e[2]) {
			t.Errorf("%s%s", e[1], lineDiff(trim(e[2]), trim(output)))
		}
	}
}
