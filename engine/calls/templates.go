package calls

import (
	"embed"
	"fmt"
	"io/fs"
	"regexp"
	"strings"
	"text/template"

	"mbusproxy/sqlfuncs"
)

// The files of sql are text/templates, which is the one language that SQL is put together in: conditions stand in the files,
// and what several of them say is a file in sql/part. A template's name is its file's, without the extension, with the folder
// before it unless that is part.
//
// What a file may name in {{…}} is a scope; those in step, name and whole say themselves what they take.
//
//go:embed sql
var files embed.FS

// comment is a whole line of comment: it explains the file, the server need not read it.
var comment = regexp.MustCompile(`(?m)^\s*--.*\n`)

// parseTemplates panics where the files are no templates, which is a broken build.
func parseTemplates() *template.Template {
	all := template.New("").Option("missingkey=error")
	err := fs.WalkDir(files, "sql", func(path string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return err
		}
		b, err := files.ReadFile(path)
		if err != nil {
			return err
		}
		name := strings.TrimPrefix(strings.TrimSuffix(strings.TrimPrefix(path, "sql/"), ".sql"), "part/")
		if all.Lookup(name) != nil {
			return fmt.Errorf("two files for %s", name)
		}
		text := comment.ReplaceAllString(string(b), "")
		if !strings.HasPrefix(name, "step/") { // reports name the lines of a step
			text = strings.Join(strings.Fields(text), " ")
		}
		_, err = all.New(name).Parse(text)
		return err
	})
	if err != nil {
		panic(fmt.Sprintf("reading embedded SQL: %v", err))
	}
	return all
}

// fill panics where a template names what there is not.
func (t *Texts) fill(name string, values any) string {
	var b strings.Builder
	if err := t.templates.ExecuteTemplate(&b, name, values); err != nil {
		panic(fmt.Sprintf("filling in SQL %s: %v", name, err))
	}
	return b.String()
}

// scope is what a template knows of the call that it serves, and where it is a part, of what stands around it. There are no
// fields for use and names as a whole, for a template finds a field of its own faster.
type scope struct {
	names sqlfuncs.Names
	use   sqlfuncs.Use

	Call      string // the WITH queries' names begin with it
	Called    string // the function's name as called, quoted
	Number    string // an integer: which call of the text it is
	Hstore    string // the schema of hstore
	Result    string // the name of the column with the results
	Rows      bool
	Ordered   bool
	Selective bool
	Condition string // of dyn_consume, where it is known

	// What parts are given; each says which of them it takes. All are SQL.
	Added, Also, Args, At, Consumer, Headers, ID, Limit, Now, Queue, Row, Selector, Text, Tids string

	onlyOne *bool // set where the text tells of the whole statement's call, not of a row's
}

func newScope(f *sqlfuncs.Func, use sqlfuncs.Use, names sqlfuncs.Names) *scope {
	return &scope{
		names: names, use: use,
		Call: names.Call, Called: names.Called, Number: names.Number, Hstore: names.Hstore, Result: f.Serves,
		Rows: use.Rows, Ordered: use.Ordered, Selective: use.Selective, Condition: use.Condition,
	}
}

// With is what a part sees: the call, and what it is given by names and values in turn.
func (s *scope) With(given ...string) (*scope, error) {
	p := &scope{
		names: s.names, use: s.use, onlyOne: s.onlyOne,
		Call: s.Call, Called: s.Called, Number: s.Number, Hstore: s.Hstore, Result: s.Result,
		Rows: s.Rows, Ordered: s.Ordered, Selective: s.Selective, Condition: s.Condition,
	}
	for i := 0; i+1 < len(given); i += 2 {
		field := p.given(given[i])
		if field == nil {
			return nil, fmt.Errorf("no part takes %s", given[i])
		}
		*field = given[i+1]
	}
	return p, nil
}

func (s *scope) given(name string) *string {
	switch name {
	case "Added":
		return &s.Added
	case "Also":
		return &s.Also
	case "Args":
		return &s.Args
	case "At":
		return &s.At
	case "Consumer":
		return &s.Consumer
	case "Headers":
		return &s.Headers
	case "ID":
		return &s.ID
	case "Limit":
		return &s.Limit
	case "Now":
		return &s.Now
	case "Queue":
		return &s.Queue
	case "Row":
		return &s.Row
	case "Selector":
		return &s.Selector
	case "Text":
		return &s.Text
	case "Tids":
		return &s.Tids
	}
	return nil
}

// Gives reports whether the call gives a parameter.
func (s *scope) Gives(param string) bool { return s.use.Given[param] }

// Fixes reports whether Arg may be used in WITH queries: the argument is the same for all rows.
func (s *scope) Fixes(param string) bool { return s.use.Fixed[param] }

// Arg is the argument for a parameter, an expression of its type.
func (s *scope) Arg(param string) string { return s.names.Argument(param) }

// Mark stands in a literal, behind mbus4-error, and says whose error it is.
func (s *scope) Mark() string {
	if s.onlyOne != nil {
		*s.onlyOne = true
	}
	return s.names.Mark
}

// MarkOf is Mark for an error of the call that a row is for: its column n is the call's number where there are several.
func (s *scope) MarkOf(row string) string {
	if s.use.Numbered {
		return "'||" + row + ".n||' " + sqlfuncs.SecretPlace
	}
	return s.names.Mark
}
