package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"regexp"
	"slices"
	"strings"
	"time"
)

const (
	databasePrefix = "plans_"
	serviceName    = "mbusproxy" // how the sessions of the services call themselves
	servicesLimit  = 2 * time.Minute
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

// turns are how statements of services begin that each turn of one runs: of the hinter, the releaser and the sweeper.
var turns = []string{"select h.slot", "with recursive d (dep, n, bytes)", "with due as", "with recursive present (id, n)"}

// reader reads the server's log, each time from where it was.
type reader struct {
	file string
	at   int64
	only [][]byte // what lines hold that are read
	seen map[string]int
}

// alike is how many plans are looked at of what is run again and again in one statement of a client.
const alike = 30

// The fields of a line: the database stands before the message, the name of the application behind it.
var (
	head = regexp.MustCompile(`"dbname":"([^"]*)".*?Query Text(.{1,200})`)
	tail = regexp.MustCompile(`"application_name":"(scale/[^"]*)"`)
)

// known tells whether so many plans like this have been seen that it says nothing new.
func (r *reader) known(line []byte) bool {
	first, last := head.FindSubmatch(line[:min(len(line), 2000)]), tail.FindSubmatch(line[max(0, len(line)-300):])
	if first == nil || last == nil {
		return false
	}
	if r.seen == nil {
		r.seen = map[string]int{}
	}
	key := string(slices.Concat(first[1], first[2], last[1]))
	r.seen[key]++
	return r.seen[key] > alike
}

// skip leaves out what has been logged so far.
func (r *reader) skip() error {
	info, err := os.Stat(r.file)
	if err != nil {
		return fmt.Errorf("reading the server's log: %w", err)
	}
	r.at = info.Size()
	return nil
}

// read gives the plans that have been logged since.
func (r *reader) read(each func(logged)) error {
	file, err := os.Open(r.file)
	if err != nil {
		return fmt.Errorf("reading the server's log: %w", err)
	}
	defer func() { _ = file.Close() }()
	if _, err := file.Seek(r.at, io.SeekStart); err != nil {
		return fmt.Errorf("reading the server's log: %w", err)
	}
	lines := bufio.NewReaderSize(file, 1<<20)
	for {
		line, err := lines.ReadBytes('\n')
		if errors.Is(err, io.EOF) {
			return nil // what is being written is for the next time
		}
		if err != nil {
			return fmt.Errorf("reading the server's log: %w", err)
		}
		r.at += int64(len(line))
		if !bytes.Contains(line, []byte(databasePrefix)) || !bytes.Contains(line, []byte("plan:")) ||
			slices.ContainsFunc(r.only, func(part []byte) bool { return !bytes.Contains(line, part) }) {
			continue
		}
		if r.known(line) {
			continue
		}
		l, err := readPlan(line)
		if err != nil {
			return err
		}
		each(l)
	}
}

func readPlan(text []byte) (logged, error) {
	var line struct {
		Database string `json:"dbname"`
		Who      string `json:"application_name"`
		Message  string `json:"message"`
	}
	if !bytes.Contains(text, []byte(`"application_name":"`+serviceName+`"`)) && !bytes.Contains(text, []byte(`"application_name":"scale/`)) {
		return logged{}, nil
	}
	if err := json.Unmarshal(text, &line); err != nil {
		return logged{}, fmt.Errorf("%w in %.200s", err, text)
	}
	_, body, _ := strings.Cut(line.Message, "plan:\n")
	l := logged{database: line.Database, who: line.Who, raw: body}
	if l.who != serviceName && !whoText.MatchString(l.who) {
		return l, nil
	}
	var p struct {
		Text string `json:"Query Text"`
		Plan plan   `json:"Plan"`
		JIT  any    `json:"JIT"`
	}
	if err := json.Unmarshal([]byte(body), &p); err != nil {
		return l, fmt.Errorf("%w in %.200s", err, body)
	}
	l.text, l.plan, l.jit = p.Text, p.Plan, p.JIT != nil
	return l, nil
}
