package schema

import (
	"embed"
	"fmt"
	"io/fs"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"text/template"

	"mbusproxy/sqlfuncs"
)

// The schema is made by the files in baseline, in the order of their names and in one transaction. Each later version is
// made by one step, steps/<version>_<what>.sql. See docs/adr/0013-upgrades.md.

//go:embed baseline/*.sql
var baselineFiles embed.FS

//go:embed steps
var stepFiles embed.FS

// HintSlots is the number of hint sequences; consumers share them by id modulo this number. The
// calls' SQL knows the number too: changing it is a step.
const HintSlots = 128

const (
	// baselineVersion is the version of the schema that baseline makes. Those before were made by programs from before the
	// first release.
	baselineVersion = 21
	// oldestServed is the oldest version of the schema that this program can work with, as it has
	// to where a step waits for clients, and with --no-init.
	oldestServed = 21
)

// step is one numbered change of the schema.
type step struct {
	version int
	name    string // of its file, for messages
	text    string // a text/template of several statements
	// oldest is the newest version that a program must know to go on using the database after the
	// step: the step's file says so in a line "-- oldest: <version>" if the step takes away what
	// older programs need. Else it is that of the step before.
	oldest int
	// index is the name of the index that the step builds concurrently, "" for all other steps.
	// Such a step is one statement, CREATE INDEX CONCURRENTLY IF NOT EXISTS, and runs outside of a
	// transaction.
	index string
	table string // on which
}

var (
	oldestLine      = regexp.MustCompile(`(?m)^-- oldest: ([0-9]+)$`)
	concurrentIndex = regexp.MustCompile(`(?m)^create (?:unique )?index concurrently if not exists (\w+) on (mbus4\.\w+) `)
)

// allSteps lists the steps in order, the baseline first. They are read once.
var allSteps = sync.OnceValues(readSteps)

func readSteps() ([]step, error) {
	var baseline strings.Builder
	names, err := fs.Glob(baselineFiles, "baseline/*.sql") // sorted
	if err != nil {
		return nil, fmt.Errorf("listing the baseline: %w", err)
	}
	for _, name := range names {
		text, err := baselineFiles.ReadFile(name)
		if err != nil {
			return nil, fmt.Errorf("reading %s: %w", name, err)
		}
		baseline.Write(text)
	}
	steps := []step{{version: baselineVersion, name: "baseline", text: baseline.String(), oldest: baselineVersion}}
	names, err = fs.Glob(stepFiles, "steps/*.sql")
	if err != nil {
		return nil, fmt.Errorf("listing the steps: %w", err)
	}
	for _, name := range names {
		text, err := stepFiles.ReadFile(name)
		if err != nil {
			return nil, fmt.Errorf("reading %s: %w", name, err)
		}
		next, err := readStep(strings.TrimPrefix(name, "steps/"), string(text), steps[len(steps)-1])
		if err != nil {
			return nil, err
		}
		steps = append(steps, next)
	}
	return slices.Clip(steps), nil
}

// readStep reads the file of the step that comes after another.
func readStep(file, text string, before step) (step, error) {
	s := step{version: before.version + 1, name: strings.TrimSuffix(file, ".sql"), text: text, oldest: before.oldest}
	number, _, _ := strings.Cut(file, "_")
	if version, err := strconv.Atoi(number); err != nil || version != s.version {
		return s, fmt.Errorf("step %s: want the number %04d", file, s.version)
	}
	if m := oldestLine.FindStringSubmatch(text); m != nil {
		oldest, err := strconv.Atoi(m[1])
		if err != nil || oldest < before.oldest || oldest >= s.version {
			return s, fmt.Errorf("step %s: a program of version %s cannot be the oldest", file, m[1])
		}
		s.oldest = oldest
	}
	if m := concurrentIndex.FindStringSubmatch(text); m != nil {
		s.index, s.table = m[1], m[2]
	}
	return s, nil
}

// inNewSchema is the step where the schema is being made: nobody writes there, and an index is built as any other.
func (s step) inNewSchema() step {
	if s.index != "" {
		s.text, s.index = strings.Replace(s.text, "concurrently ", "", 1), ""
	}
	return s
}

// templateData is what steps and grants may refer to.
type templateData struct {
	Hstore string // the schema of the extension, quoted: for the types of columns and parameters
	Bound  string // the schema of what is hstore's in texts that run
	Check  string // fails where something that the transaction has made depends on somebody untrusted
	Slots  []int
}

func expand(name, text, hstoreSchema string) (string, error) {
	data := templateData{Hstore: hstoreSchema, Bound: sqlfuncs.BoundHstore, Check: checkSQL}
	for slot := range HintSlots {
		data.Slots = append(data.Slots, slot)
	}
	parsed, err := template.New(name).Parse(text)
	if err != nil {
		return "", fmt.Errorf("reading %s: %w", name, err)
	}
	var b strings.Builder
	if err := parsed.Execute(&b, data); err != nil {
		return "", fmt.Errorf("filling in %s: %w", name, err)
	}
	return b.String(), nil
}
