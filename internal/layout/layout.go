package layout

import (
	"slices"
	"strings"

	"mbusproxy/rewrite/lex"
)

// width is how long a line may get that can be broken.
const width = 130

// node is a token, or parentheses or brackets with what stands in them.
type node struct {
	text   string // of a group the opening and the closing character
	spaced bool   // a blank stands before it
	group  bool
	inner  []node
}

// SQL gives SQL with line breaks and indentation, without comments. It breaks lines only where they
// are too long: before clauses, then behind commas, then before AND, OR, operators and the parts of
// CASE, then inside parentheses. Where that would change more than blanks, it returns the text as
// it is, and false.
func SQL(sql string) (text string, ok bool) {
	if text = layOut(sql); slices.Equal(tokens(sql), tokens(text)) {
		return text, true
	}
	return sql, false
}

func layOut(sql string) string {
	var p printer
	p.clauses(nodes(sql), 0)
	return strings.TrimRight(p.b.String(), " \n")
}

// nodes reads a text.
func nodes(sql string) []node {
	l := lex.Lexer{Text: sql}
	end := 0
	next := func() (t lex.Token, text string, spaced bool) {
		t = l.Next()
		spaced, end = t.Start > end, t.End
		return t, sql[t.Start:t.End], spaced
	}
	var read func() []node
	read = func() (list []node) {
		for {
			t, text, spaced := next()
			switch {
			case t.Kind == lex.End || t.Kind == lex.Open || text == ")" || text == "]":
				return list
			case text == "(" && len(list) > 0 && list[len(list)-1].text == "operator":
				for text != ")" && t.Kind != lex.End && t.Kind != lex.Open {
					list[len(list)-1].text += text
					t, text, _ = next()
				}
				list[len(list)-1].text += text
			case text == "(":
				list = append(list, node{"()", spaced, true, read()})
			case text == "[":
				list = append(list, node{"[]", spaced, true, read()})
			default:
				list = append(list, node{text: text, spaced: spaced})
			}
		}
	}
	return read()
}

// tokens lists what must be kept; literals that it lays out are lists themselves.
func tokens(sql string) (list []string) {
	l := lex.Lexer{Text: sql}
	for {
		t := l.Next()
		if t.Kind == lex.End || t.Kind == lex.Open {
			return append(list, sql[t.Start:])
		}
		text := sql[t.Start:t.End]
		if inner, quote, ok := quotedSQL(text); ok {
			list = append(append(append(list, quote), tokens(inner)...), quote)
			continue
		}
		list = append(list, text)
	}
}

// quotedSQL is the SQL in a literal that holds some: the body of a function or of a DO block.
func quotedSQL(text string) (inner, quote string, ok bool) {
	if len(text) < 2 {
		return "", "", false
	}
	if strings.HasPrefix(text, "'") {
		inner, quote = strings.ReplaceAll(text[1:len(text)-1], "''", "'"), "'"
	} else if strings.HasPrefix(text, "$") {
		quote = text[:strings.IndexByte(text[1:], '$')+2]
		inner = text[len(quote) : len(text)-len(quote)]
	}
	word, _, _ := strings.Cut(strings.TrimSpace(inner), " ")
	word, _, _ = strings.Cut(word, "\n")
	return inner, quote, slices.Contains([]string{"with", "select", "begin", "declare"}, word) && len(inner) > width
}

type printer struct {
	b      strings.Builder
	column int
}

func (p *printer) write(s string) {
	p.b.WriteString(s)
	if i := strings.LastIndexByte(s, '\n'); i >= 0 {
		p.column = len(s) - i - 1
	} else {
		p.column += len(s)
	}
}

func (p *printer) line(indent int) {
	text := strings.TrimRight(p.b.String(), " ")
	p.b.Reset()
	p.b.WriteString(text)
	if text != "" {
		p.b.WriteByte('\n')
	}
	p.column = 0
	p.write(strings.Repeat(" ", indent))
}

// flat is a list in one line; not ok where a literal needs lines of its own.
func flat(list []node) (text string, ok bool) {
	var b strings.Builder
	for i, n := range list {
		if n.spaced && i > 0 {
			b.WriteByte(' ')
		}
		if !n.group {
			if _, _, quoted := quotedSQL(n.text); quoted {
				return "", false
			}
			b.WriteString(n.text)
			continue
		}
		inner, ok := flat(n.inner)
		if !ok {
			return "", false
		}
		b.WriteString(n.text[:1] + inner + n.text[1:])
	}
	return b.String(), true
}

func (p *printer) fits(list []node) (string, bool) {
	text, ok := flat(list)
	return text, ok && p.column+len(text) <= width
}

// clauseStarts are the words with which clauses begin.
var clauseStarts = []string{
	"select", "from", "where", "group", "order", "limit", "offset", "for", "returning", "union", "insert", "delete",
	"update", "set", "values", "left", "join", "cross", "having", "loop",
}

// split cuts a list before each node that starts something.
func split(list []node, starts func(i int) bool) (parts [][]node) {
	from := 0
	for i := range list {
		if i > from && starts(i) {
			parts = append(parts, list[from:i])
			from = i
		}
	}
	return append(parts, list[from:])
}

func word(list []node, i int) string {
	if i < 0 || i >= len(list) || list[i].group {
		return ""
	}
	return strings.ToLower(list[i].text)
}

// clauses writes a list at an indent, a clause a line.
func (p *printer) clauses(list []node, indent int) {
	if text, ok := p.fits(list); ok {
		p.write(text)
		return
	}
	parts := split(list, func(i int) bool {
		w, before := word(list, i), word(list, i-1)
		switch {
		case w == "update" && (before == "for" || before == "do"), w == "from" && (before == "delete" || before == "distinct"), w == "join" && (before == "left" || before == "cross"),
			w == "set" && before == "conflict", w == "select" && before == "all":
			return false
		}
		return slices.Contains(clauseStarts, w) && caseDepth(list, i) == 0 || w == "on" && word(list, i+1) == "conflict" || w == "with" && before == "in"
	})
	for i, part := range parts {
		if i > 0 {
			p.line(indent)
		}
		p.items(part, indent)
	}
}

// caseDepth is in how many CASEs of the list node i stands.
func caseDepth(list []node, i int) (depth int) {
	for j := range i {
		switch word(list, j) {
		case "case":
			depth++
		case "end":
			depth--
		}
	}
	return depth
}

// items writes a clause, an item a line where it is long.
func (p *printer) items(list []node, indent int) {
	if text, ok := p.fits(list); ok {
		p.write(text)
		return
	}
	deeper := indent
	if slices.Contains(clauseStarts, word(list, 0)) {
		deeper += 4
	}
	at, short := indent, false
	for i, item := range split(list, func(i int) bool { return word(list, i-1) == "," }) {
		text, _ := flat(item)
		before := short
		short = len(text) > 0 && len(text) < 40
		switch {
		case i > 0 && before && short && p.column+len(text) < width:
			p.write(" ")
		case i > 0:
			at = deeper
			p.line(at)
		}
		p.conditions(item, at)
	}
}

// conditions writes an item, a condition or a part of CASE a line where it is long.
func (p *printer) conditions(list []node, indent int) {
	if text, ok := p.fits(list); ok {
		p.write(text)
		return
	}
	parts := split(list, func(i int) bool {
		return slices.Contains([]string{"and", "or", "then"}, word(list, i)) && word(list, i-2) != "between" && word(list, i+1) != "replace" && caseDepth(list, i) == 0
	})
	if len(parts) == 1 {
		parts = split(list, func(i int) bool { return strings.HasPrefix(word(list, i), "operator(") && caseDepth(list, i) == 0 })
	}
	if len(parts) == 1 {
		parts = split(list, func(i int) bool {
			return slices.Contains([]string{"when", "else", "end"}, word(list, i)) && caseDepth(list, i) == 1
		})
	}
	for i, part := range parts {
		at := indent
		if i > 0 && word(part, 0) != "end" {
			at += 4
		}
		if i > 0 {
			p.line(at)
		}
		if len(parts) > 1 {
			p.conditions(part, at)
		} else {
			p.groups(part, at)
		}
	}
}

// groups writes nodes one after the other, what stands in parentheses in lines of its own where it is long.
func (p *printer) groups(list []node, indent int) {
	for i, n := range list {
		if n.spaced && i > 0 {
			p.write(" ")
		}
		inner, quote, quoted := quotedSQL(n.text)
		switch {
		case quoted:
			p.write(quote)
			if quote == "'" {
				for _, l := range strings.Split(layOut(inner), "\n") {
					p.line(indent + 4)
					p.write(strings.ReplaceAll(l, "'", "''"))
				}
			} else {
				p.code(inner)
			}
			p.line(indent)
			p.write(quote)
		case !n.group:
			p.write(n.text)
		default:
			p.write(n.text[:1])
			if text, ok := p.fits(n.inner); ok && p.column+len(text) < width || len(n.inner) == 0 {
				p.write(text)
			} else {
				p.line(indent + 4)
				p.clauses(n.inner, indent+4)
				p.line(indent)
			}
			p.write(n.text[1:])
		}
	}
}

// code writes the code of a block, which has lines of its own.
func (p *printer) code(code string) {
	var line string
	for _, l := range strings.Split(strings.Trim(code, "\n"), "\n") {
		if line += l + " "; !balanced(line) {
			continue
		}
		indent := len(line) - len(strings.TrimLeft(line, " "))
		p.line(indent)
		p.clauses(nodes(line), indent)
		line = ""
	}
	p.write(line)
}

// balanced reports whether nothing that begins in a text ends behind it.
func balanced(text string) bool {
	l := lex.Lexer{Text: text}
	depth := 0
	for {
		t := l.Next()
		switch {
		case t.Kind == lex.End:
			return depth == 0
		case t.Kind == lex.Open:
			return false
		case text[t.Start:t.End] == "(":
			depth++
		case text[t.Start:t.End] == ")":
			depth--
		}
	}
}
