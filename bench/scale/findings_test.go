package main

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
)

// finding is something that no plan may have, in one state and statement; the moments and forms in
// which it was seen beside it.
type finding struct {
	state, statement, what string
}

type findings struct {
	mu    sync.Mutex
	all   map[finding][]string // where
	plans map[finding]string   // one of them
	count map[string]int       // plans by state
}

func newFindings() *findings {
	return &findings{all: map[finding][]string{}, plans: map[finding]string{}, count: map[string]int{}}
}

func (f *findings) add(what finding, where string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if !slices.Contains(f.all[what], where) {
		f.all[what] = append(f.all[what], where)
	}
}

// smallTables have a number of rows that no state changes, and sequences one.
var smallTables = []string{"service", "schema_version", "upgrade_lock", "message_id", "post_id", "semaphore_term"}

// fewRows is how many a sort may read more than it returns.
const fewRows = 100

// worksFor are the states in which the own queue's calls have more to do, and so more to read.
var worksFor = func() map[string]bool {
	all := map[string]bool{}
	for _, s := range states() {
		all[plainName(s.name)] = len(s.work) > 0
	}
	return all
}()

// plainName is a state's name as it comes back from that of its database.
func plainName(name string) string { return strings.ReplaceAll(name, ",", "") }

// check holds a plan to what plans may do.
func (f *findings) check(l logged) {
	state, ok := strings.CutPrefix(l.database, databasePrefix)
	if !ok {
		return
	}
	kind := state[strings.LastIndex(state, "_")+1:]
	state = strings.ReplaceAll(strings.TrimSuffix(state, "_"+kind), "_", " ")
	where, most := kind, float64(servicePages)
	var label string
	switch m := whoText.FindStringSubmatch(l.who); {
	case m != nil:
		n, _ := strconv.Atoi(m[1])
		at, _ := strconv.Atoi(m[2])
		if m[3] == first {
			return
		}
		s := statements()[n]
		label, where, most = s.label, moment(at).String()+", "+m[3], max(s.pages, usualPages)
	case l.who == serviceName:
		label = "service: " + opening(l.text)
	default:
		return
	}
	f.count[state]++
	add := func(what string) {
		key := finding{state, label, what}
		f.add(key, where)
		f.plans[key] = l.raw
	}
	if l.jit {
		add("JIT")
	}
	more := worksFor[state] && strings.HasSuffix(label, " of own")
	if pages := l.plan.Hit + l.plan.Read; pages > most && !more {
		add("pages")
	}
	l.plan.walk(add)
}

// servicePages is what a statement of a service may touch: it works in batches of some thousand.
const servicePages = 50000

func (p *plan) walk(add func(what string)) {
	if p.Type == "Seq Scan" && p.Schema == "" && p.Table != "" && !strings.HasPrefix(p.Table, "pg_") && !slices.Contains(smallTables, p.Table) {
		add("Seq Scan on " + p.Table)
	}
	if (p.Type == "Sort" || p.Type == "Incremental Sort") && len(p.Plans) > 0 {
		if in := p.Plans[0]; in.Rows*in.Loops > p.Rows*p.Loops+fewRows {
			add("Sort")
		}
	}
	for i := range p.Plans {
		p.Plans[i].walk(add)
	}
}

var blanks = regexp.MustCompile(`\s+`)

// opening is the beginning of a statement.
func opening(text string) string {
	text = strings.TrimSpace(blanks.ReplaceAllString(text, " "))
	return text[:min(len(text), 60)]
}

// known is what plans do that they should not, by patterns, with the reason.
type known struct {
	state, statement, what string
	reason                 string
}

// report fails for findings that are not known, and for what is known but not found.
func (f *findings) report(t *testing.T) {
	t.Helper()
	all := len(f.count) == len(planned()) // else -run has chosen some
	used := map[int]bool{}
	keys := slices.SortedFunc(maps.Keys(f.all), func(a, b finding) int {
		return strings.Compare(a.state+a.statement+a.what, b.state+b.statement+b.what)
	})
	for _, key := range keys {
		i := slices.IndexFunc(knownFindings, func(k known) bool {
			return matches(k.state, key.state) && matches(k.statement, key.statement) && matches(k.what, key.what)
		})
		if used[i] = true; i < 0 {
			t.Errorf("%s: %s: %s (%s)\n%s", key.state, key.statement, key.what, strings.Join(f.all[key], "; "), f.shown(key))
		}
	}
	for i, k := range knownFindings {
		if all && !used[i] && !strings.HasSuffix(k.reason, notAlways) {
			t.Errorf("%s is not found any more; take it off the list: %s", fmt.Sprint(k.state, ": ", k.statement, ": ", k.what), k.reason)
		}
	}
}

func matches(pattern, text string) bool {
	return regexp.MustCompile("^(?:" + pattern + ")$").MatchString(text)
}

// shown is a plan, where it is asked for.
func (f *findings) shown(key finding) string {
	if !testing.Verbose() {
		return ""
	}
	return f.plans[key]
}
