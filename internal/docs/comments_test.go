package docs

import (
	"go/ast"
	"path"
	"regexp"
	"slices"
	"strings"
	"testing"
)

var (
	// commentFile is a file that a comment names. One called name.sql or the like stands for any.
	commentFile = regexp.MustCompile(`(?:[\w-]+/)*[\w*-]+\.(?:go|sql|md|sh)\b`)
	// docLink is a link of a doc comment to a type or member; words in capitals are SQL's.
	docLink = regexp.MustCompile(`\[\*?([A-Za-z]\w*[a-z]\w*(?:\.\w+)*)\](?:[^(\[:]|$)`)
	// selected is a name with a dot in the middle of a sentence.
	selected = regexp.MustCompile(`\b([A-Za-z]\w*)\.([A-Za-z]\w*)\b`)
	// commentTest is a test that a comment names.
	commentTest = regexp.MustCompile(`\b(?:Test|Fuzz|Benchmark)[A-Z]\w*`)
	// camel is a word that only a program, or a protocol, spells so.
	camel = regexp.MustCompile(`\b[A-Za-z][a-z0-9]+[A-Z]\w*\b`)
)

// others are such words that come from elsewhere: the server's source, RFC 5802, TLS, JDBC, the XDG folders.
var others = []string{
	"CallableStatement", "ClientKey", "ClientHello", "FigureColname", "MaxAllocSize", "PasswordMessage",
	"ProcessStartupPacket", "escapeSyntaxCallMode",
}

// wrongInComment returns what is wrong with the names in a comment of package p: of files, tests
// and links, of members of its types, whatever the case of the type's first letter, and of what
// other packages export. links: what stands in brackets is a link.
func (t *tree) wrongInComment(p goPackage, text string, links bool) (problems []string) {
	add := func(name, what string) { problems = append(problems, name+": "+what) }
	for _, name := range commentFile.FindAllString(text, -1) {
		if t.wrongPath(name, p.dir) != "" && !strings.HasPrefix(path.Base(name), "name.") && t.wrongPath(name, path.Dir(p.dir)) != "" {
			add(name, "no such file")
		}
	}
	for _, m := range docLink.FindAllStringSubmatch(text, -1) {
		of, member, _ := strings.Cut(m[1], ".")
		if links && !p.names[m[1]] && !declares(t.named(of), member) {
			add("["+m[1]+"]", "no such name")
		}
	}
	for _, m := range selected.FindAllStringSubmatch(text, -1) {
		name, of, member := m[0], m[1], m[2]
		packages := t.named(of)
		switch {
		case commentFile.MatchString(name) || p.names[name]:
		case p.hasMembers(of) && !p.embeds[of]:
			add(name, "no such member")
		case p.hasMembers(otherCase(of)) && !p.names[of] && len(packages) == 0:
			add(name, "no such type")
		case len(packages) > 0 && ast.IsExported(member) && !declares(packages, member):
			add(name, "no such name in the package")
		}
	}
	for _, name := range commentTest.FindAllString(text, -1) {
		if !t.hasTest(name, true) {
			add(name, "no such test")
		}
	}
	for _, name := range camel.FindAllString(text, -1) {
		if !t.words[name] && !t.words[strings.TrimSuffix(name, "s")] && !t.words["Msg"+name] && !slices.Contains(others, name) && !commentTest.MatchString(name) {
			add(name, "no such name")
		}
	}
	return problems
}

// hasMembers reports whether a type of the package has that name, and methods or fields.
func (p *goPackage) hasMembers(name string) bool {
	for n := range p.names {
		if strings.HasPrefix(n, name+".") {
			return true
		}
	}
	return false
}

// otherCase is a name exported or no longer so.
func otherCase(name string) string {
	if ast.IsExported(name) {
		return strings.ToLower(name[:1]) + name[1:]
	}
	return strings.ToUpper(name[:1]) + name[1:]
}

// TestCommentsNameWhatExists holds the comments of all Go files to the tree.
func TestCommentsNameWhatExists(t *testing.T) {
	t.Parallel()
	tr := theTree(t)
	for _, src := range tr.sources {
		p := tr.in(path.Dir(src.file))
		for _, c := range src.syntax.Comments {
			for _, problem := range tr.wrongInComment(p, c.Text(), !strings.HasSuffix(src.file, "_test.go")) {
				t.Errorf("%s:%d: %s", src.file, src.set.Position(c.Pos()).Line, problem)
			}
		}
	}
}

// misnamed returns the first word of a doc comment where it looks like the name of what is declared and is another one.
func misnamed(doc *ast.CommentGroup, name string) string {
	if doc == nil || commentTest.MatchString(name) {
		return ""
	}
	first, _, _ := strings.Cut(doc.Text(), " ")
	if first = strings.TrimRight(first, ",:"); first == name || !lowerWord.MatchString(first) {
		return ""
	}
	return first
}

var lowerWord = regexp.MustCompile(`^[a-z]\w*$`)

// TestDocCommentsBeginWithTheName holds doc comments that begin with a name to what they stand at.
func TestDocCommentsBeginWithTheName(t *testing.T) {
	t.Parallel()
	check := func(src source, doc *ast.CommentGroup, name string) {
		if first := misnamed(doc, name); first != "" {
			t.Errorf("%s:%d: the comment of %s begins with %s", src.file, src.set.Position(doc.Pos()).Line, name, first)
		}
	}
	for _, src := range theTree(t).sources {
		for _, d := range src.syntax.Decls {
			switch d := d.(type) {
			case *ast.FuncDecl:
				check(src, d.Doc, d.Name.Name)
			case *ast.GenDecl:
				if len(d.Specs) != 1 {
					continue
				}
				switch s := d.Specs[0].(type) {
				case *ast.TypeSpec:
					check(src, d.Doc, s.Name.Name)
				case *ast.ValueSpec:
					check(src, d.Doc, s.Names[0].Name)
				}
			}
		}
	}
}

// TestWrongCommentsAreFound shows that the check of comments can fail.
func TestWrongCommentsAreFound(t *testing.T) {
	t.Parallel()
	tr := theTree(t)
	p := tr.in("internal/docs")
	for text, wrong := range map[string]bool{
		"twin is one": false, "Whatever it is": false, "brother is another one": true, "twins are two": true,
	} {
		doc := &ast.CommentGroup{List: []*ast.Comment{{Text: "// " + text}}}
		if got := misnamed(doc, "twin"); (got != "") != wrong {
			t.Errorf("%q: %q", text, got)
		}
	}
	for text, wrong := range map[string]bool{
		"see tree.files, goPackage.declare, parse.Parser and [goPackage]":      false,
		"see tree_test.go, docs/design.md and TestWrongCommentsAreFound":       false,
		"the page docs/adr/0004-relay.md; not t.x, select m.iid, [NOT] or 1.5": false,
		"see treetest.go":           true,
		"see docs/adr/0004-rel.md":  true,
		"see [goPackages]":          true,
		"see tree.folders":          true,
		"see Tree.files":            true,
		"see parse.Parse_r":         true,
		"see noSuch" + "Thing":      true,
		"an AnswerNobody" + "Gives": true,
		"see TestNoCommentsAtAll":   true,
	} {
		if got := tr.wrongInComment(p, text, true); (len(got) > 0) != wrong {
			t.Errorf("%q: %q", text, got)
		}
	}
}
