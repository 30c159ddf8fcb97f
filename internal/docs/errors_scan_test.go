package docs

import (
	"go/ast"
	"go/token"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// open stands in a shape for what differs from error to error.
const open = "…"

// raised is an error that the program can raise: its SQLSTATE, "" where that is another's or there
// is none, and the shape of its message.
type raised struct{ code, shape string }

// errorScan finds what the sources raise.
type errorScan struct {
	consts map[string]string // of all packages, by their name
	// values are the shapes that Go gives to the places {{.Name}} of SQL templates.
	values map[string][]string
	found  map[raised]string // where one of them stands
	// unread are messages that could not be read.
	unread   []string
	patterns map[string]*regexp.Regexp // see pattern
}

// errorTypes are the types that errors have, and the fields of message and SQLSTATE.
var errorTypes = map[string][2]string{
	"Error":      {"Message", "Code"},
	"Refusal":    {"Message", "Code"},
	"LimitError": {"Message", "Code"},
	"PgError":    {"Message", "Code"}, // of package internal/bulk, as the server would say it
	"failure":    {"message", "code"},
	"usageError": {"message", ""},
}

// errorMakers are functions that make errors of what they are given: which argument is the message,
// and which the SQLSTATE.
var errorMakers = map[string]struct {
	dir                 string
	args, message, code int // args: how many a call has at least
}{
	"refuse": {"selector", 4, 3, 1},
	"misuse": {"cmd/mbusproxy", 1, 0, -1},
}

// notOurs are folders whose errors no client and no operator sees.
var notOurs = []string{"bench", "examples", "integration", "internal/wiretest", "internal/docs", "proxy/internal", "engine/internal"}

func scanErrors(t *testing.T) *errorScan {
	t.Helper()
	s := &errorScan{consts: map[string]string{}, values: map[string][]string{}, found: map[raised]string{}, patterns: map[string]*regexp.Regexp{}}
	var sources []source
	for _, src := range theTree(t).sources {
		if strings.HasSuffix(src.file, "_test.go") || slices.ContainsFunc(notOurs, func(dir string) bool { return strings.HasPrefix(src.file, dir+"/") }) {
			continue
		}
		sources = append(sources, src)
		s.readConsts(src)
	}
	for _, src := range sources {
		s.scanGo(src)
	}
	err := filepath.WalkDir(filepath.Join(root, "engine"), func(file string, entry fs.DirEntry, err error) error {
		if err != nil || !strings.HasSuffix(file, ".sql") {
			return err
		}
		text, err := os.ReadFile(file)
		s.scanSQL(filepath.ToSlash(file), string(text))
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func (s *errorScan) readConsts(src source) {
	ast.Inspect(src.syntax, func(n ast.Node) bool {
		v, ok := n.(*ast.ValueSpec)
		if !ok {
			return true
		}
		for i, name := range v.Names {
			if i < len(v.Values) {
				if l, ok := v.Values[i].(*ast.BasicLit); ok && l.Kind == token.STRING {
					s.consts[name.Name], _ = strconv.Unquote(l.Value)
				}
			}
		}
		return true
	})
}

// add notes an error of which several shapes may be possible.
func (s *errorScan) add(src source, at ast.Node, code string, shapes []string) {
	where := src.set.Position(at.Pos()).String()
	if len(shapes) == 0 {
		s.unread = append(s.unread, where)
	}
	for _, shape := range shapes {
		s.found[raised{code, shape}] = where
	}
}

func (s *errorScan) scanGo(src source) {
	for _, d := range src.syntax.Decls {
		f, ok := d.(*ast.FuncDecl)
		if !ok || f.Body == nil {
			continue
		}
		assigned := assignments(f)
		ast.Inspect(f, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.CompositeLit:
				s.literal(src, n, assigned)
			case *ast.CallExpr:
				s.call(src, n, assigned)
			case *ast.AssignStmt:
				for i, l := range n.Lhs {
					if sel, ok := l.(*ast.SelectorExpr); ok && sel.Sel.Name == "Message" && len(n.Rhs) == len(n.Lhs) {
						if shapes := s.shapes(n.Rhs[i], nil); len(shapes) > 0 && shapes[0] != open {
							s.add(src, n, "42883", shapes) // package rewrite/plan, which says it in the place of the server
						}
					}
				}
			}
			return true
		})
	}
}

// assignments collects what a function assigns to its variables.
func assignments(f *ast.FuncDecl) map[string][]ast.Expr {
	m := map[string][]ast.Expr{}
	ast.Inspect(f, func(n ast.Node) bool {
		if a, ok := n.(*ast.AssignStmt); ok && len(a.Lhs) == len(a.Rhs) && a.Tok != token.ADD_ASSIGN {
			for i, l := range a.Lhs {
				if id, ok := l.(*ast.Ident); ok {
					m[id.Name] = append(m[id.Name], a.Rhs[i])
				}
			}
		}
		return true
	})
	return m
}

func (s *errorScan) literal(src source, n *ast.CompositeLit, assigned map[string][]ast.Expr) {
	for _, e := range n.Elts { // values of templates
		kv, ok := e.(*ast.KeyValueExpr)
		if !ok {
			continue
		}
		if l, ok := kv.Key.(*ast.BasicLit); ok && l.Kind == token.STRING {
			name, _ := strconv.Unquote(l.Value)
			s.values[name] = append(s.values[name], s.shapes(kv.Value, assigned)...)
		}
	}
	fields, ok := errorTypes[typeName(n.Type)]
	if !ok {
		return
	}
	var message ast.Expr
	code := ""
	for _, e := range n.Elts {
		kv, ok := e.(*ast.KeyValueExpr)
		if !ok {
			return
		}
		switch kv.Key.(*ast.Ident).Name {
		case fields[0]:
			message = kv.Value
		case fields[1]:
			code = s.code(kv.Value)
		}
	}
	if id, ok := message.(*ast.Ident); ok && assigned[id.Name] == nil {
		return // a parameter, or a variable of a closure: who gives it is looked at
	}
	if _, ok := message.(*ast.SelectorExpr); ok || message == nil {
		return // another error's
	}
	s.add(src, n, code, s.shapes(message, assigned))
}

func typeName(e ast.Expr) string {
	switch e := e.(type) {
	case *ast.Ident:
		return e.Name
	case *ast.SelectorExpr:
		return e.Sel.Name
	}
	return ""
}

func (s *errorScan) code(e ast.Expr) string {
	if l, ok := e.(*ast.BasicLit); ok {
		code, _ := strconv.Unquote(l.Value)
		return code
	}
	return s.consts[typeName(e)]
}

// raiseFormat is PL/pgSQL in a format of Go: what stands before the message tells which argument that is.
var raiseFormat = regexp.MustCompile(`(?s)^(.*errcode = '([0-9A-Z]{5})',\s*message = )%s`)

func first(args []ast.Expr) ast.Expr {
	if len(args) == 0 {
		return nil
	}
	return args[0]
}

func (s *errorScan) call(src source, n *ast.CallExpr, assigned map[string][]ast.Expr) {
	name := typeName(n.Fun)
	switch {
	case name == "refuse" && path.Dir(src.file) == "selector/pattern" && len(n.Args) == 1: // of the reader of regular expressions
		for _, what := range s.shapes(n.Args[0], assigned) {
			s.add(src, n, "2201B", []string{what + " is not allowed in a regular expression of a selector"})
		}
		return
	case name == "refuse" && src.file == "rewrite/place/check_calls.go":
		s.add(src, n, "42809", s.shapes(n.Args[0], assigned))
		return
	}
	if l, ok := first(n.Args).(*ast.BasicLit); ok && name == "Sprintf" {
		if m := raiseFormat.FindStringSubmatch(l.Value); m != nil {
			s.add(src, n, m[2], s.shapes(n.Args[strings.Count(m[1], "%")+1], assigned))
		}
	}
	if m, ok := errorMakers[name]; ok && len(n.Args) >= m.args && strings.HasPrefix(src.file, m.dir+"/") {
		code := ""
		if m.code >= 0 {
			code = s.code(n.Args[m.code])
		}
		s.add(src, n, code, s.shapes(n.Args[m.message], assigned))
	}
}

// shapes returns what a string expression can be.
func (s *errorScan) shapes(e ast.Expr, assigned map[string][]ast.Expr) (out []string) {
	switch e := e.(type) {
	case *ast.BasicLit:
		text, err := strconv.Unquote(e.Value)
		if err == nil {
			out = []string{shapeOf(text)}
		}
	case *ast.Ident:
		if c, ok := s.consts[e.Name]; ok {
			return []string{shapeOf(c)}
		}
		for _, a := range assigned[e.Name] {
			out = append(out, s.shapes(a, nil)...)
		}
	case *ast.BinaryExpr:
		left, right := s.shapes(e.X, assigned), s.shapes(e.Y, assigned)
		if len(left) == 0 {
			left = []string{open}
		}
		if len(right) == 0 {
			right = []string{open}
		}
		for _, l := range left {
			for _, r := range right {
				out = append(out, collapse(l+r))
			}
		}
	case *ast.CallExpr:
		if name := typeName(e.Fun); (name == "Sprintf" || name == "QuoteLiteral") && len(e.Args) > 0 {
			return s.shapes(e.Args[0], assigned)
		}
	}
	return out
}

var (
	verb     = regexp.MustCompile(`%(\[\d+\])?[-+#0-9.]*[a-zA-Z]`)
	template = regexp.MustCompile(`\{\{[^}]*\}\}`)
)

// shapeOf makes a shape of a format of Go or SQL.
func shapeOf(format string) string {
	format = strings.ReplaceAll(format, "%q", `"`+open+`"`)
	format = strings.ReplaceAll(format, "%%", "%")
	return collapse(verb.ReplaceAllString(template.ReplaceAllString(format, open), open))
}

func collapse(shape string) string { return strings.ReplaceAll(shape, open+open, open) }

var (
	marker = regexp.MustCompile(`mbus4-error (?:\{\{[^}]*\}\}|%s) ([0-9A-Z]{5}) ((?:[^']|'')*)'`)
	raise  = regexp.MustCompile(`errcode = '([0-9A-Z]{5})', message = \{\{\.(\w+)\}\}`)
	// own is an error of a function of the schema that is no call.
	own = regexp.MustCompile(`errcode = '([0-9A-Z]{5})', message = (?:pg_catalog\.)?format\('((?:[^']|'')*)'`)
	// notice is the text of engine/calls/sql/part/notice.sql: a literal, perhaps with others and columns behind it.
	notice = regexp.MustCompile("\"Text\" [`\"]'([0-9A-Z]{5}) ([^`}]*?)[`\"]\\}\\}")
	// between is what stands between two literals of such a text.
	between = regexp.MustCompile(`'\s*\|\|[^']*?(?:\|\|\s*'|$)`)
	operand = regexp.MustCompile(`^' \|\| \{\{\.(\w+)\}\}`)
)

func (s *errorScan) scanSQL(file, text string) {
	for _, m := range marker.FindAllStringSubmatchIndex(text, -1) {
		code, shape := text[m[2]:m[3]], shapeOf(strings.ReplaceAll(text[m[4]:m[5]], "''", "'"))
		if o := operand.FindStringSubmatch(text[m[5]:]); shape == "" && o != nil {
			s.fromTemplate(file, code, o[1])
			continue
		}
		// The markers of some errors about nulls end in a place for the null, so that they are not evaluated beforehand.
		s.found[raised{code, strings.Replace(shape, "null"+open, "null", 1)}] = file
	}
	for _, m := range raise.FindAllStringSubmatch(text, -1) {
		s.fromTemplate(file, m[1], m[2])
	}
	for _, m := range own.FindAllStringSubmatch(text, -1) {
		s.found[raised{m[1], shapeOf(m[2])}] = file
	}
	for _, m := range notice.FindAllStringSubmatch(text, -1) {
		s.found[raised{m[1], collapse(strings.TrimSuffix(between.ReplaceAllString(m[2], open), "'"))}] = file
	}
}

// fromTemplate notes an error whose message Go gives to a place of a template.
func (s *errorScan) fromTemplate(file, code, name string) {
	if len(s.values[name]) == 0 {
		s.unread = append(s.unread, file+": "+name)
	}
	for _, shape := range s.values[name] {
		s.found[raised{code, shape}] = file
	}
}
