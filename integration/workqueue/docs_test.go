package workqueue

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"mbusproxy/integration/internal/harness"
	"mbusproxy/integration/internal/programs"
)

var docExample = regexp.MustCompile("(?s)```sql\n(.*?)```\n\n```text\n(.*?)```\n")

// The examples of docs/work-queue.md give what stands below them, in one session of psql.
func TestWorkQueueDocs(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("../../docs/work-queue.md")
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
	path, _ := programs.FindPsql(t)
	got := programs.Run(t, []string{"PAGER=", "PGOPTIONS="}, script.String(), "", "sh", "-c", `exec "$0" -X -d "$1" 2>&1`, path, harness.Proxied().URL(harness.NewDatabase(t)))
	rest := got.Stdout
	for i, e := range examples {
		output, behind, found := strings.Cut(rest, fmt.Sprintf("--mark %d--\n", i))
		if !found {
			t.Fatalf("no output of %q in %q", e[1], rest)
		}
		rest = behind
		if programs.Trim(output) != programs.Trim(e[2]) {
			t.Errorf("%s%s", e[1], harness.LineDiff(programs.Trim(e[2]), programs.Trim(output)))
		}
	}
}

// The tests that docs/work-queue.md names are there, and none of the work queue's is left out.
func TestWorkQueueRules(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("../../docs/work-queue.md")
	if err != nil {
		t.Fatal(err)
	}
	sources, err := filepath.Glob("*_test.go")
	if err != nil || len(sources) < 5 {
		t.Fatalf("sources %v: %v", sources, err)
	}
	sources = append(sources, "../clients/workqueue_test.go")
	declared := map[string]bool{"TestWorkQueueDocs": true, "TestWorkQueueRules": true, "TestMain": true}
	named := maps.Clone(declared)
	for _, name := range regexp.MustCompile("`(Test\\w+)`").FindAllStringSubmatch(string(text), -1) {
		named[name[1]] = true
	}
	for _, path := range sources {
		source, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		for _, name := range regexp.MustCompile(`(?m)^func (Test\w+)\(`).FindAllStringSubmatch(string(source), -1) {
			declared[name[1]] = true
		}
	}
	if !maps.Equal(declared, named) {
		t.Errorf("there are\n%v\nthe document names\n%v", slices.Sorted(maps.Keys(declared)), slices.Sorted(maps.Keys(named)))
	}
}
