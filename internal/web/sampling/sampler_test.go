package sampling

import (
	"fmt"
	"testing"
	"time"

	"mbusproxy/internal/web/history"
)

// The last hour of so many databases is kept; one more takes the place of that in which nobody has
// been logged in for longest, and where somebody is in each, it has none.
func TestDatabasesAreBounded(t *testing.T) {
	t.Parallel()
	s, now := New(Config{}), time.Now()
	at := func(n int, ago time.Duration) {
		s.ring(fmt.Sprint(n)).Put(now.Add(-ago), map[string]float64{"posted": 1})
	}
	for n := range mostDatabases {
		at(n, 0)
	}
	if s.ring("more") != nil || len(s.databases) != mostDatabases {
		t.Fatalf("there are %d", len(s.databases))
	}
	s.databases = map[string]*history.Ring{}
	for n := range mostDatabases {
		at(n, time.Duration(n)*history.Step)
	}
	if s.ring("more") == nil || s.databases["15"] != nil || s.databases["14"] == nil || len(s.databases) != mostDatabases {
		t.Errorf("%d are left", len(s.databases))
	}
}
