package docs

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
)

// root is the repository, seen from this package.
const root = "../.."

// tree is what the repository holds: its files, and what its Go packages declare.
type tree struct {
	files    map[string]bool // by path from the root, with slashes; folders too
	bases    map[string]bool // the same without folders
	packages []goPackage
	sources  []source
	words    map[string]bool // identifiers, and words in literals, of all Go files
}

// source is a Go file.
type source struct {
	file   string // from the root
	set    *token.FileSet
	syntax *ast.File
}

// goPackage is one folder with Go files, tests included.
type goPackage struct {
	dir   string // from the root
	name  string // of the package clause, without _test
	names map[string]bool
	// embeds names the types that have members of others.
	embeds map[string]bool
}

// readTree parses the repository once for all tests.
var readTree = sync.OnceValues(func() (*tree, error) {
	t := &tree{files: map[string]bool{}, bases: map[string]bool{}, words: map[string]bool{}}
	sources := map[string][]string{}
	err := filepath.WalkDir(root, func(file string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(root, file)
		if err != nil {
			return err
		}
		rel = filepath.ToSlash(rel)
		if entry.IsDir() && slices.Contains([]string{".git", ".cache", "bin", "node_modules"}, entry.Name()) {
			return filepath.SkipDir
		}
		t.files[rel], t.bases[path.Base(rel)] = true, true
		if strings.HasSuffix(rel, ".go") {
			sources[path.Dir(rel)] = append(sources[path.Dir(rel)], rel)
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	for dir, files := range sources {
		p := goPackage{dir: dir, names: map[string]bool{}, embeds: map[string]bool{}}
		for _, file := range files {
			set := token.NewFileSet()
			f, err := parser.ParseFile(set, filepath.Join(root, filepath.FromSlash(file)), nil, parser.ParseComments|parser.SkipObjectResolution)
			if err != nil {
				return nil, err
			}
			t.sources = append(t.sources, source{file, set, f})
			t.note(f)
			p.name = strings.TrimSuffix(f.Name.Name, "_test")
			for _, d := range f.Decls {
				p.declare(d)
			}
		}
		t.packages = append(t.packages, p)
	}
	return t, nil
})

var word = regexp.MustCompile(`\w+`)

// note adds the words of a file.
func (t *tree) note(f *ast.File) {
	ast.Inspect(f, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.Ident:
			t.words[n.Name] = true
		case *ast.BasicLit:
			for _, w := range word.FindAllString(n.Value, -1) {
				t.words[w] = true
			}
		}
		return true
	})
}

// theTree is the repository as it stands.
func theTree(t *testing.T) *tree {
	t.Helper()
	tr, err := readTree()
	if err != nil {
		t.Fatal(err)
	}
	return tr
}

// declare notes the names that a declaration gives: Function, Type, Type.method, Type.field, constants and variables.
func (p *goPackage) declare(d ast.Decl) {
	switch d := d.(type) {
	case *ast.FuncDecl:
		name := d.Name.Name
		if d.Recv != nil {
			name = receiver(d.Recv.List[0].Type) + "." + name
		}
		p.names[name] = true
	case *ast.GenDecl:
		for _, s := range d.Specs {
			switch s := s.(type) {
			case *ast.ValueSpec:
				for _, n := range s.Names {
					p.names[n.Name] = true
				}
			case *ast.TypeSpec:
				p.names[s.Name.Name] = true
				p.members(s.Name.Name, s.Type)
			}
		}
	}
}

// members notes the fields of a struct and the methods of an interface.
func (p *goPackage) members(of string, t ast.Expr) {
	var list *ast.FieldList
	switch t := t.(type) {
	case *ast.StructType:
		list = t.Fields
	case *ast.InterfaceType:
		list = t.Methods
	default:
		return
	}
	for _, f := range list.List {
		for _, n := range f.Names {
			p.names[of+"."+n.Name] = true
		}
		if len(f.Names) == 0 {
			p.names[of+"."+receiver(f.Type)] = true
			p.embeds[of] = true
		}
	}
}

// receiver is the name of a type that may be a pointer, generic, or of another package.
func receiver(t ast.Expr) string {
	switch t := t.(type) {
	case *ast.StarExpr:
		return receiver(t.X)
	case *ast.IndexExpr:
		return receiver(t.X)
	case *ast.SelectorExpr:
		return t.Sel.Name
	case *ast.Ident:
		return t.Name
	}
	return ""
}

// in returns the package in a folder.
func (t *tree) in(dir string) goPackage {
	for _, p := range t.packages {
		if p.dir == dir {
			return p
		}
	}
	return goPackage{}
}

// named returns the packages that a document may call so: by their folder, the end of it, or the package clause.
func (t *tree) named(name string) (found []goPackage) {
	for _, p := range t.packages {
		if p.dir == name || strings.HasSuffix(p.dir, "/"+name) || p.name == name {
			found = append(found, p)
		}
	}
	return found
}

// declares reports whether one of the packages has the name.
func declares(packages []goPackage, name string) bool {
	return slices.ContainsFunc(packages, func(p goPackage) bool { return p.names[name] })
}

// matches reports whether a file or folder of that path is there; a * stands for any characters but slashes.
func (t *tree) matches(pattern string) bool {
	if !strings.Contains(pattern, "*") {
		return t.files[pattern]
	}
	for file := range t.files {
		if ok, err := path.Match(pattern, file); ok && err == nil {
			return true
		}
	}
	return false
}
