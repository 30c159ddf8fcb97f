package explain

import (
	"bytes"
	"encoding/json"
	"strings"
	"unicode/utf8"

	"mbusproxy/rewrite/plan"
)

// What becomes of a statement.
const (
	outcomeServed    = "served"    // calls are replaced
	outcomeForwarded = "forwarded" // as it is
	outcomeRefused   = "refused"
	outcomeUnread    = "unread" // forwarded, though it seems to have calls
)

// statement is what Config.JSON tells of one statement. The names in JSON stay.
type statement struct {
	Statement int       `json:"statement"` // counted from 1
	For       string    `json:"for"`       // the database
	Outcome   string    `json:"outcome"`
	Calls     []call    `json:"calls"`
	Refusals  []refusal `json:"refusals"`
	Checked   []checked `json:"checked"` // selectors and the like
	// AskedFirst is the query by which the session is asked what names without the schema mean; null for none.
	AskedFirst *string `json:"asked_first"`
	// Before are the statements that run first, where they do not depend on parameters; null for none.
	Before *string `json:"before"`
	Waits  bool    `json:"waits"`
	// Parameters are the literals that become parameters when it is sent again and again; null
	// where no statement is prepared for it.
	Parameters []string `json:"prepared_parameters"`
	Remarks    []string `json:"remarks"` // what else there is to say
	SQL        string   `json:"sql"`     // what the server gets, laid out
}

type call struct {
	Line     int    `json:"line"`
	Column   int    `json:"column"` // in characters, from 1
	Function string `json:"function"`
	Served   string `json:"served"`
}

type refusal struct {
	Line    int    `json:"line"`
	Column  int    `json:"column"`
	Code    string `json:"sqlstate"`
	Message string `json:"message"`
	Detail  string `json:"detail,omitempty"`
	Hint    string `json:"hint,omitempty"`
}

type checked struct {
	Line   int    `json:"line"`
	Column int    `json:"column"`
	What   string `json:"what"`
	When   string `json:"when"`
}

// add begins to tell of another statement.
func (e *explainer) add(outcome string) *statement {
	e.told = append(e.told, &statement{
		Statement: len(e.told) + 1, For: e.site.String(), Outcome: outcome, AskedFirst: e.asked,
		Calls: []call{}, Refusals: []refusal{}, Checked: []checked{}, Remarks: []string{},
	})
	return e.told[len(e.told)-1]
}

// addWhole tells of a text that is forwarded as a whole.
func (e *explainer) addWhole(outcome, why string) {
	s := e.add(outcome)
	s.SQL = laidOut(e.text)
	s.Remarks = append(s.Remarks, why)
}

func (s *statement) refuse(e *explainer, r *plan.Refusal) {
	line, column := e.lineOf(r.Offset)
	s.Outcome = outcomeRefused
	s.Refusals = append(s.Refusals, refusal{Line: line, Column: column, Code: r.Code, Message: r.Message, Detail: r.Detail, Hint: r.Hint})
}

// lineOf returns where a byte of the text stands, counted from 1, the column in characters.
func (e *explainer) lineOf(offset int) (line, column int) {
	before := e.text[:min(offset, len(e.text))]
	begins := strings.LastIndexByte(before, '\n') + 1
	return strings.Count(before, "\n") + 1, utf8.RuneCountInString(before[begins:]) + 1
}

// document is all that was told, as JSON.
func (e *explainer) document() ([]byte, error) {
	var b bytes.Buffer
	to := json.NewEncoder(&b)
	to.SetEscapeHTML(false)
	to.SetIndent("", "  ")
	err := to.Encode(e.told)
	return b.Bytes(), err
}
