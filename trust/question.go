package trust

import (
	_ "embed"
	"fmt"
	"strings"

	"mbusproxy/sqlfuncs"
)

// These begin the transaction in which the question is asked and what it is about is read or run, in a session whose search
// path may be somebody else's: the owner of a database chooses it, and behind a pooler nobody may set it for good.
const (
	BeginReading = "begin isolation level read committed read only; set local search_path = pg_catalog, pg_temp"
	BeginWriting = "begin isolation level read committed read write; set local search_path = pg_catalog, pg_temp"
)

//go:embed question.sql
var question string

// ofPersons begins the part of the question that only persons ask.
const ofPersons = "-- for persons\n"

// ForEngine is the question of the engine. Its answer is the same as that of ForPerson.
func ForEngine() string {
	text := question
	for {
		before, rest, found := strings.Cut(text, ofPersons)
		if !found {
			return fill(text, "")
		}
		_, after, _ := strings.Cut(rest, "-- end\n")
		text = before + after
	}
}

// ForPerson is the question of a session that works for a person, in one row of texts for [Scan] and [Read]. The role that keeps
// house is that of --admin where the asker knows it; "": it does not.
func ForPerson(admin string) string { return fill(question, admin) }

func fill(text, admin string) string {
	return strings.ReplaceAll(text, "'‹admin›'", sqlfuncs.QuoteLiteral(admin))
}

// Answer is what the question has found.
type Answer struct {
	Role, Database string
	ReadOnly       bool   // the transaction can change nothing
	Absent         bool   // there is no schema mbus4
	What, Whose    string // the first thing that is not trusted, and the role behind it; "": all is trusted
	mend           string // what a superuser may say, without the role at its end; "": nothing in particular
}

// Scan reads the answer from the row that the question gives, as pgx has it.
func Scan(row interface{ Scan(into ...any) error }) (Answer, error) {
	var texts [7]string
	if err := row.Scan(&texts[0], &texts[1], &texts[2], &texts[3], &texts[4], &texts[5], &texts[6]); err != nil {
		return Answer{}, fmt.Errorf("asking whom schema mbus4 belongs to: %w", err)
	}
	return Read(texts), nil
}

// Read reads the answer from the row's texts.
func Read(row [7]string) Answer {
	return Answer{Role: row[0], Database: row[1], ReadOnly: row[2] == "on", Absent: row[3] == "absent", What: row[4], Whose: row[5], mend: row[6]}
}

// Error is why a session must not go on: SQLSTATE 42501 where something belongs to somebody who is not trusted, 3F000
// where there is no schema, 25006 where the transaction could change something and must not.
type Error struct{ Code, Message, Hint string }

func (e *Error) Error() string { return e.Message }

// Absent is the SQLSTATE of an Error that says that there is no schema.
const Absent = "3F000" // invalid_schema_name

// Check says why a person's session must not go on, nil where it may. reads says that it is to change nothing.
func (a Answer) Check(reads bool) *Error {
	switch {
	case reads && !a.ReadOnly:
		return &Error{"25006", fmt.Sprintf("the transaction in database %q is not read-only", a.Database), "Whoever owns the database, or a pooler, may have changed its settings."}
	case a.What != "":
		hint := fmt.Sprintf("Whoever owns that could have anything run with your rights. If %s is to be trusted, see docs/security.md; if not, drop the schema.", a.Whose)
		if a.mend != "" {
			hint = "Whoever has that could have anything run with your rights. A superuser may say: " + a.mend + a.Whose + "; see docs/security.md."
		}
		return &Error{
			"42501", fmt.Sprintf("in database %q %s belongs to role %q, which role %q does not trust; nothing of schema mbus4 was read or run", a.Database, a.What, a.Whose, a.Role), hint,
		}
	case a.Absent:
		return &Error{Absent, fmt.Sprintf("database %q has no schema mbus4", a.Database), ""}
	}
	return nil
}
