package calls

import (
	"embed"
	"fmt"
	"io/fs"
	"regexp"
	"strings"
	"sync"
	"text/template"

	"mbusproxy/sqlfuncs"
)

// The files of sql are text/templates, which is the one language that SQL is put together in:
// conditions stand in the files, and what several of them say is a file in sql/part. A template's
// name is its file's, without the extension, with the folder before it unless that is part.
//
// What a file in sql itself and in part may name in {{…}} is in scope; those in part say what else
// they are given. For those in prelude and whole see the call of fill that names the file; those in
// name say it themselves.
//
//go:embed sql
var files embed.FS

// comment is a whole line of comment: it explains the file, the server need not read it.
var comment = regexp.MustCompile(`(?m)^\s*--.*\n`)

// parsed are the templates of all Texts: nothing changes them once they are parsed.
var parsed = sync.OnceValue(parseTemplates)

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
		if !strings.HasPrefix(name, "prelude/") { // errors of PL/pgSQL name the lines of the block
			text = strings.Join(strings.Fields(text), " ")
		}
		_, err = all.New(name).Parse(text)
		return err
	})
	if err != nil {
		panic(fmt.Sprintf("reading embedded SQL: %v", err))
	}
	return template.Must(all.New("readme").Parse("(select " + sqlfuncs.QuoteLiteral(readme) + "::pg_catalog.text as {{.Called}})"))
}

// fill panics where a template names what there is not.
func (t *Texts) fill(name string, values any) string {
	var b strings.Builder
	if err := t.templates.ExecuteTemplate(&b, name, values); err != nil {
		panic(fmt.Sprintf("filling in SQL %s: %v", name, err))
	}
	return b.String()
}
