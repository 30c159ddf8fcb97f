package semaphore

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
)

// What decide does holds the rules, and where it does nothing more, the holders are the best ones but for
// those that the head protects.
func TestSemaphoreDecide(t *testing.T) {
	t.Parallel()
	random := rand.New(rand.NewPCG(1, 2))
	for range 20000 {
		active := random.IntN(8)
		tryRelease := random.IntN(active + 1)
		var all, running, waiting []slotTask
		for id := range int64(random.IntN(14)) {
			all = append(all, slotTask{id: id, place: place{float64(random.IntN(6)), random.Int64N(50)}})
		}
		for _, task := range all {
			if random.IntN(2) == 0 {
				task.asked = random.IntN(3) == 0
				running = append(running, task)
			} else {
				waiting = append(waiting, task)
			}
		}
		slices.SortFunc(running, slotTask.compare)
		slices.SortFunc(waiting, slotTask.compare)
		checkDecision(t, active, tryRelease, running, waiting)
		if t.Failed() {
			t.Fatalf("active %d, try_release %d\nrunning %+v\nwaiting %+v", active, tryRelease, running, waiting)
		}
	}
}

func checkDecision(t *testing.T, active, tryRelease int, running, waiting []slotTask) {
	t.Helper()
	grant, ask := decide(active, tryRelease, running, waiting, nil)
	if len(grant) > 0 && len(running)+len(grant) > active {
		t.Errorf("granted %+v", grant)
	}
	if free := active - len(running); free > 0 && len(grant) != min(free, len(waiting)) {
		t.Errorf("granted %d of %d", len(grant), free)
	}
	if !slices.Equal(grant, waiting[:len(grant)]) {
		t.Errorf("granted %+v", grant)
	}
	if len(grant) > 0 {
		return
	}
	asked := slices.Clone(running)
	for _, a := range ask {
		i := slices.Index(running, a)
		switch {
		case i < 0 || a.asked:
			t.Fatalf("asked %+v", a)
		case i < active-tryRelease:
			t.Errorf("asked %+v of the head", a)
		case i < active && (len(waiting) == 0 || waiting[0].priority <= a.priority):
			t.Errorf("asked %+v for nobody better", a)
		}
		asked[i].asked = true
	}
	if _, again := decide(active, tryRelease, asked, waiting, nil); len(again) > 0 {
		t.Errorf("asked %+v, and then %+v", ask, again)
	}
	// When everybody who was asked has left and slots are filled, over and over, the best ones hold them.
	for range 50 {
		left := slices.DeleteFunc(slices.Clone(asked), func(t slotTask) bool { return t.asked })
		grant, _ := decide(active, tryRelease, left, waiting, nil)
		left = append(left, grant...)
		slices.SortFunc(left, slotTask.compare)
		rest := waiting[len(grant):]
		_, ask := decide(active, tryRelease, left, rest, nil)
		if len(ask) == 0 {
			if problem := unrest(active, tryRelease, left, rest); problem != "" {
				t.Error(problem)
			}
			return
		}
		for i := range left {
			left[i].asked = slices.Contains(ask, left[i])
		}
		asked, waiting = left, rest
	}
	t.Error("it never rests")
}

// unrest tells what is not as it must be at rest, when everybody who was asked has left: all slots are
// given, and a better one waits only for those of the head. "": nothing.
func unrest(active, tryRelease int, running, waiting []slotTask) string {
	if len(running) > active || len(running) < active && len(waiting) > 0 {
		return fmt.Sprintf("%d run of %d", len(running), active)
	}
	for i, r := range running {
		if len(waiting) > 0 && waiting[0].priority > r.priority && i >= active-tryRelease {
			return fmt.Sprintf("%+v waits for %+v", waiting[0], r)
		}
	}
	return ""
}
