package app

import (
	"strings"
	"testing"

	"mbusproxy/engine/schema"
)

// Each step is shown as it goes, who it waits for once, and an index as a bar on a terminal or as a line elsewhere.
func TestStepsShown(t *testing.T) {
	t.Parallel()
	events := []schema.Event{
		{Step: "0003_index", Number: 3, Of: 3},
		{Step: "0003_index", Number: 3, Of: 3, State: schema.Waiting, Waiting: "process 7"},
		{Step: "0003_index", Number: 3, Of: 3, State: schema.Waiting, Waiting: "process 7"},
		{Step: "0003_index", Number: 3, Of: 3, State: schema.Waiting, Waiting: "process 8"},
		{Step: "0003_index", Number: 3, Of: 3, State: schema.Building, Progress: -1},
		{Step: "0003_index", Number: 3, Of: 3, State: schema.Building, Progress: 0.42},
		{Step: "0003_index", Number: 3, Of: 3, State: schema.Done},
	}
	for _, bar := range []bool{false, true} {
		var out, terminal strings.Builder
		s := stepsShown{out: &out}
		built := "step 3 of 3, 0003_index: building the index\n"
		if bar {
			s.terminal, built = &terminal, ""
		}
		for _, e := range events {
			s.show(e)
		}
		want := "step 3 of 3, 0003_index\nstep 3 of 3, 0003_index: waits for process 7\nstep 3 of 3, 0003_index: waits for process 8\n" +
			built + "step 3 of 3, 0003_index: done\n"
		if out.String() != want {
			t.Errorf("got\n%swant\n%s", out.String(), want)
		}
		if bar != strings.Contains(terminal.String(), "42%") {
			t.Errorf("on the terminal: %q", terminal.String())
		}
	}
}
