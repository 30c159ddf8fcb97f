package main

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"mbusproxy/bench/internal/rig"
)

const (
	databasePrefix = "plans_"
	serviceName    = "mbusproxy" // how the sessions of the services call themselves
	servicesLimit  = 30 * time.Second
)

// who names a statement in the server's log.
type who struct {
	statement int
	moment    moment
	form      string
}

func (w who) String() string { return fmt.Sprintf("scale/%d/%d/%s", w.statement, w.moment, w.form) }

var whoText = regexp.MustCompile(`^scale/(\d+)/(\d+)/(\w+)$`)

// plan is a node of a plan.
type plan struct {
	Type   string  `json:"Node Type"`
	Schema string  `json:"Schema"`
	Table  string  `json:"Relation Name"`
	Rows   float64 `json:"Actual Rows"`
	Loops  float64 `json:"Actual Loops"`
	Hit    float64 `json:"Shared Hit Blocks"`
	Read   float64 `json:"Shared Read Blocks"`
	Plans  []plan  `json:"Plans"`
}

// logged is a plan that the server told of.
type logged struct {
	database, who string
	text          string // of the statement
	plan          plan
	jit           bool
	raw           string
}

// watcher reads the server's log.
type watcher struct {
	t     *testing.T
	stack *rig.Stack
	log   string // its folder
	mu    sync.Mutex
	sites []*site
	after map[string]int // by database: the number of its plans when its state was built
}

// built tells of a database with a state, which stays as it is.
func (w *watcher) built(s *site) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.sites = append(w.sites, s)
}

// turns are how statements of services begin that each turn of one runs: of the hinter, the releaser and the sweeper.
var turns = []string{"select h.slot", "with recursive d (dep, n)", "with due as", "with recursive present (id)"}

// services waits until each service has had a turn in each database.
func (w *watcher) services() {
	w.t.Helper()
	last := w.plans() // before this, a turn may have been while the state was being built
	deadline := time.Now().Add(servicesLimit)
	for {
		missing := w.missing(w.plans()[len(last):])
		if missing == "" {
			return
		}
		if time.Now().After(deadline) {
			w.t.Fatalf("no turn of a service within %v: %s", servicesLimit, missing)
		}
		for _, s := range w.sites {
			if err := s.call(w.t.Context(), "select mbus4.is_msg_exists('nowhere')"); err != nil { // the database is in use
				w.t.Fatal(err)
			}
		}
	}
}

func (w *watcher) missing(plans []logged) string {
	seen := map[string]bool{}
	for _, p := range plans {
		for _, turn := range turns {
			if p.who == serviceName && strings.HasPrefix(strings.TrimSpace(p.text), turn) {
				seen[p.database+turn] = true
			}
		}
	}
	for _, s := range w.sites {
		for _, turn := range turns {
			if !seen[s.name+turn] {
				return s.name + ": " + turn
			}
		}
	}
	return ""
}

// plans reads all plans that have been logged.
func (w *watcher) plans() []logged {
	w.t.Helper()
	files, err := filepath.Glob(filepath.Join(w.log, "*.json"))
	if err != nil || len(files) == 0 {
		w.t.Fatalf("no log in %s: %v", w.log, err)
	}
	var out []logged
	for _, name := range files {
		file, err := os.Open(name)
		if err != nil {
			w.t.Fatal(err)
		}
		lines := bufio.NewScanner(file)
		lines.Buffer(nil, 64<<20)
		for lines.Scan() {
			if l, ok := readPlan(w.t, lines.Bytes()); ok {
				out = append(out, l)
			}
		}
		if err := errors.Join(lines.Err(), file.Close()); err != nil {
			w.t.Fatal(err)
		}
	}
	return out
}

func readPlan(t *testing.T, text []byte) (logged, bool) {
	t.Helper()
	var line struct {
		Database string `json:"dbname"`
		Who      string `json:"application_name"`
		Message  string `json:"message"`
	}
	if json.Unmarshal(text, &line) != nil {
		return logged{}, false // the last one, which is being written
	}
	_, body, ok := strings.Cut(line.Message, "plan:\n")
	if !ok {
		return logged{}, false
	}
	var p struct {
		Text string `json:"Query Text"`
		Plan plan   `json:"Plan"`
		JIT  any    `json:"JIT"`
	}
	if err := json.Unmarshal([]byte(body), &p); err != nil {
		t.Fatalf("%v in %.200s", err, body)
	}
	return logged{line.Database, line.Who, p.Text, p.Plan, p.JIT != nil, body}, true
}
