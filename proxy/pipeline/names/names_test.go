package names

import (
	"fmt"
	"strings"
	"testing"

	"mbusproxy/proxy/pipeline/requests"
	"mbusproxy/proxy/statements"
	"mbusproxy/proxy/wire"
)

// namesPlan is a plan for tests of the table of names.
type namesPlan struct {
	statements.Plan
	sql      string
	bindTime bool
}

func (p *namesPlan) SQL() string    { return p.sql }
func (p *namesPlan) Size() int      { return len(p.sql) }
func (p *namesPlan) BindTime() bool { return p.bindTime }

// namesScript plays what the two directions do with a table of names. Its lines, in which words in brackets may be
// left out, are
//
//	parse NAME TEXT       a Parse is sent; TEXT is plain, plan, bindtime (a bind-time plan), unread, or an effect, as deallocate=NAME
//	bind PORTAL NAME [prelude]
//	execute PORTAL        so much of it as has effects
//	close [portal] NAME
//	query EFFECT …        as deallocate=NAME, prepare=NAME, declare=NAME; doubtful, first, if there is no Sync before it
//	unread                a statement that may bind any name is sent
//	sync                  a Sync is sent
//	done | unclear [TAG]  the reply to the first outstanding request, or statement of it, in one reading or several
//	fail | skip           an ErrorResponse, or none, to the first outstanding request
//	tag TAG               a Query without effects completes
//	end [query]           ReadyForQuery with status I, that of a Sync, or of a Query that is the first outstanding request
//	inblock [query]       ReadyForQuery with status T
//	NAME = WANT           the statement, or portal if written @NAME, when it is looked up by the direction client
//	                      to server: nothing, bindtime, prelude, effect, unread, unknown, wait or unclear
//	NAME edits WANT       by which plan reports are edited: none, plan, bindtime or forgotten
type namesScript struct {
	Table
	t        *testing.T
	segment  uint64
	requests []sent
}

// sent is a request that is outstanding.
type sent struct {
	kind requests.Kind
	*Use
}

func (s *namesScript) effect(word string) statements.Effect {
	tag, key, _ := strings.Cut(word, "=")
	switch tag {
	case "declare":
		return statements.Effect{Tag: tagDeclare, Portal: true, Name: key}
	default:
		return statements.Effect{Tag: strings.ToUpper(tag), Name: key}
	}
}

func (s *namesScript) text(word string) *Text {
	switch word {
	case "plain":
		return nil
	case "plan":
		return &Text{Plan: &namesPlan{sql: "plan"}}
	case "bindtime":
		return &Text{Plan: &namesPlan{sql: "bindtime", bindTime: true}}
	case "unread":
		return &Text{Unread: true}
	}
	e := s.effect(word)
	return &Text{Effect: &e}
}

func (s *namesScript) send(o sent) { s.requests = append(s.requests, o) }

func (s *namesScript) line(line string) {
	w := strings.Fields(line)
	a := new(Use)
	switch w[0] {
	case "parse":
		a.Statement, a.Text = strings.Trim(w[1], `"`), s.text(w[2])
		a.Bindings = s.Note(&Binding{Name: a.Statement, Segment: s.segment, Text: a.Text})
		s.send(sent{requests.Parse, a})
	case "bind":
		a.Portal, a.Statement = strings.Trim(w[1], `"`), strings.Trim(w[2], `"`)
		b := &Binding{Portal: true, Name: a.Portal, Segment: s.segment}
		if meant, _, _ := s.Look(false, a.Statement, s.segment); meant != nil {
			b.Text = meant.Text
		}
		if len(w) > 3 {
			b.Prelude = &namesPlan{sql: "prelude"}
		}
		a.Bindings = s.Note(b)
		s.send(sent{requests.Bind, a})
	case "execute":
		a.Portal = strings.Trim(w[1], `"`)
		if meant, _, _ := s.Look(true, a.Portal, s.segment); meant != nil && meant.Text != nil && meant.Text.Effect != nil {
			a.Bindings = s.NoteEffects([]statements.Effect{*meant.Text.Effect}, Binding{Segment: s.segment})
		}
		s.send(sent{requests.Execute, a})
	case "close":
		a.OfPortal = w[1] == "portal"
		key := strings.Trim(w[len(w)-1], `"`)
		if a.OfPortal {
			a.Portal = key
		} else {
			a.Statement = key
		}
		a.Bindings = s.Note(&Binding{Portal: a.OfPortal, Name: key, Segment: s.segment})
		s.send(sent{requests.Close, a})
	case "query":
		like := Binding{Segment: s.segment, Simple: true}
		var effects []statements.Effect
		for _, word := range w[1:] {
			if word == "doubtful" {
				like.Doubtful = true
			} else {
				effects = append(effects, s.effect(word))
			}
		}
		a.Bindings = s.NoteEffects(effects, like)
		s.send(sent{requests.Query, a})
	case "unread":
		s.RebindAny()
		a.Text = &Text{Unread: true}
		s.send(sent{requests.Query, a})
	case "sync":
		s.segment++
	case "done", "unclear", "fail", "skip":
		s.reply(w)
	case "tag":
		s.Replied(requests.Query, a, wire.MsgCommandComplete, strings.Join(w[1:], " "), true)
	case "end", "inblock":
		kind, status := requests.Sync, byte('I')
		if w[0] == "inblock" {
			status = 'T'
		}
		if len(w) > 1 {
			kind = requests.Query
		}
		if s.Ready(kind == requests.Query, status); kind == requests.Query && len(s.requests) > 0 {
			s.reply([]string{"skip"})
		}
	default:
		s.ask(w[0], w[1], w[2])
	}
}

// reply plays a reply to the first request that is outstanding.
func (s *namesScript) reply(w []string) {
	o := s.requests[0]
	if o.kind != requests.Query || w[0] == "fail" || w[0] == "skip" {
		s.requests = s.requests[1:]
	}
	tag := strings.Join(w[1:], " ")
	types := map[requests.Kind]byte{requests.Parse: wire.MsgParseComplete, requests.Bind: wire.MsgBindComplete, requests.Close: wire.MsgCloseComplete}
	typ := types[o.kind]
	if typ == 0 {
		typ = wire.MsgCommandComplete
	}
	switch w[0] {
	case "fail":
		s.Replied(o.kind, o.Use, wire.MsgErrorResponse, "", true)
	case "skip":
	default:
		s.Replied(o.kind, o.Use, typ, tag, w[0] == "done")
	}
	if o.kind != requests.Query || w[0] == "fail" || w[0] == "skip" {
		for _, b := range o.Bindings {
			s.Settled(b, requests.Undone)
		}
	}
}

func (s *namesScript) ask(key, verb, want string) {
	s.t.Helper()
	key, portal := strings.CutPrefix(key, "@")
	key = strings.Trim(key, `"`)
	got := "nothing"
	if verb == "edits" {
		got = s.edits(portal, key)
	} else {
		b, wait, err := s.Look(portal, key, s.segment)
		switch {
		case err != nil:
			got = "unclear"
		case wait != nil:
			got = "wait"
		case b == nil:
		case b.Unknown:
			got = "unknown"
		case b.Prelude != nil:
			got = "prelude"
		case b.Text.BindTime() != nil:
			got = "bindtime"
		case b.Text != nil && b.Text.Unread:
			got = "unread"
		case b.Text != nil && b.Text.Effect != nil:
			got = "effect"
		}
	}
	if got != want {
		s.t.Errorf("%s %s %s, want %s", key, verb, got, want)
	}
}

func (s *namesScript) edits(portal bool, key string) string {
	plan, forgotten := s.PlanOf(requests.Describe, &Use{Statement: key, Portal: key, OfPortal: portal})
	switch {
	case plan != nil:
		return plan.SQL()
	case forgotten:
		return "forgotten"
	}
	return "none"
}

func TestNames(t *testing.T) {
	t.Parallel()
	for what, script := range map[string]string{
		"a plan stands from ParseComplete on": `
			parse s plan; s edits none; s = nothing; sync; s = nothing; done; s edits plan; s = nothing
			bind p s; @p edits none; done; @p edits plan; @p = nothing`,
		"what was sent since the last Sync is not waited for": `
			parse s bindtime; s = bindtime; s edits none; sync; s = wait; done; s = bindtime; s edits bindtime`,
		"a Parse that fails leaves a named statement, and drops the unnamed one": `
			parse s bindtime; sync; done; parse s plain; s = nothing; sync; s = wait; fail; s = bindtime; s edits bindtime
			parse "" bindtime; sync; done; parse "" plain; sync; "" = wait; fail; "" edits none; "" = bindtime`,
		"a Parse that is skipped changes nothing": `
			parse "" bindtime; sync; done; parse "" plain; skip; "" = bindtime; "" edits bindtime`,
		"Parse of a plain text takes the place of the unnamed statement": `
			parse "" bindtime; done; parse "" plain; done; "" = nothing; "" edits none`,
		"Close takes a name away": `
			parse s bindtime; done; close s; s = nothing; sync; s = wait; done; s = nothing; s edits none
			parse s plan; done; close s; done; s edits none; close none; done`,
		"portals take the text of their statement": `
			parse s plan; done; parse t bindtime; done; bind p s; bind q t prelude; done; done
			@p edits plan; @q edits bindtime; @p = nothing; @q = prelude; close s; done; @p edits plan
			close portal p; done; @p edits none; close portal q; done; @q = nothing; @q edits none`,
		"a portal is bound again": `
			parse s bindtime; done; bind "" s prelude; done; @"" = prelude; bind "" none; @"" = nothing; sync; @"" = wait; skip; @"" = prelude
			parse t plain; done; bind "" t; done; @"" = nothing; @"" edits none`,
		"portals end with the transaction, statements do not": `
			parse s bindtime; done; bind p s prelude; done; inblock; @p = prelude; @p edits bindtime; s = bindtime
			end; @p = nothing; @p edits none; s = bindtime; s edits bindtime`,
		"a portal sent before the end of a transaction outlives it": `
			parse s bindtime; done; bind p s prelude; done; sync; bind p s prelude; end; @p = prelude; done; @p = prelude`,
		"a simple Query drops the unnamed ones": `
			parse "" plan; done; bind "" ""; done; parse s plan; done; bind p s; done
			inblock query; "" edits none; @"" edits none; s edits plan; @p edits plan`,
		"DEALLOCATE ALL leaves the unnamed statement": `
			parse "" bindtime; done; parse s bindtime; done; parse t bindtime; tag DEALLOCATE ALL
			"" = bindtime; "" edits bindtime; s = nothing; s edits none; t = bindtime; done; t = bindtime`,
		"DISCARD ALL takes the portals, too": `
			parse s bindtime; done; bind p s prelude; done; tag DISCARD ALL; s = nothing; @p = nothing; @p edits none`,
		"SQL takes a name away when its tag comes": `
			parse s bindtime; sync; done; parse t plan; sync; done
			query deallocate=s deallocate=t; s = wait; t = nothing; t edits plan
			done DEALLOCATE; s = nothing; s edits none; t edits plan; done DEALLOCATE; t edits none`,
		"SQL that fails takes nothing away": `
			parse s bindtime; sync; done; query prepare=s; s = wait; fail; s = bindtime; s edits bindtime`,
		"SQL binds a name again": `
			parse s bindtime; done; sync; query deallocate=s prepare=s; done DEALLOCATE; s = wait; done PREPARE; s = nothing; s edits none`,
		"DECLARE takes the name of a portal": `
			parse s bindtime; done; bind p s prelude; done; sync; query declare=p; @p = wait; done DECLARE CURSOR; @p = nothing; @p edits none`,
		"a Query that may be skipped leaves the name unclear": `
			parse s bindtime; sync; done; query doubtful deallocate=s; s = unclear; sync; s = wait; skip; s = bindtime`,
		"executing a statement that deallocates": `
			parse s bindtime; done; parse d deallocate=s; done; bind p d; @p = effect; done; execute p; s = nothing; sync; s = wait
			done DEALLOCATE; s = nothing; s edits none`,
		"executing one that nobody follows": `
			parse s plan; done; parse d deallocate=s; done; bind p d; done; execute p; done DEALLOCATE; s edits none; d edits none`,
		"a text that was not read may deallocate any named statement": `
			parse s bindtime; done; parse t plan; done; parse "" plan; done; unread; s = unknown; t = nothing; "" edits plan; t edits plan
			done DEALLOCATE; s edits forgotten; t edits forgotten; "" edits plan; s = unknown
			end query; s = unknown; parse s bindtime; s = bindtime; sync; s = wait; fail; s = unknown; parse s bindtime; done; s = bindtime; s edits bindtime`,
		"SQL does not reach the unnamed ones": `
			parse "" bindtime; done; bind "" "" prelude; done; unread; "" = bindtime; @"" = prelude; done DEALLOCATE; "" edits bindtime; @"" edits bindtime`,
		"what was outstanding before a text that was not read does not count": `
			parse s bindtime; unread; s = unknown; done; s = unknown; s edits bindtime`,
		"one that was not read may declare any portal": `
			parse s bindtime; done; bind p s prelude; done; unread; @p = unknown; done DECLARE CURSOR; @p edits forgotten; s edits bindtime; end; @p = unknown`,
		"a Parse that was not read": `
			parse s plan; done; parse u unread; u = unread; done; bind p u; @p = unread; done; execute p; done DEALLOCATE; s edits forgotten; u edits forgotten`,
		"what can be read in two ways is unclear until it is bound again": `
			parse s bindtime; sync; unclear; s = unclear; s edits bindtime; end; s = unclear; parse s bindtime; s = bindtime; done; s = bindtime`,
		"what becomes unclear first and fails then": `
			parse s bindtime; sync; unclear; parse s plain; sync; s = wait; fail; s = unclear`,
	} {
		s := &namesScript{t: t}
		for i, line := range strings.FieldsFunc(script, func(c rune) bool { return c == ';' || c == '\n' }) {
			if line = strings.TrimSpace(line); line != "" {
				t.Run(fmt.Sprintf("%s/%d %s", what, i, line), func(t *testing.T) {
					s.t = t
					s.line(line)
				})
			}
		}
		s.t = t
		s.checkCounts(what)
	}
}

// checkCounts compares what the table counts with what it holds.
func (s *namesScript) checkCounts(what string) {
	s.t.Helper()
	for _, portal := range []bool{false, true} {
		table := s.table(portal)
		var want nameTable
		for _, e := range table.of {
			if e.text != nil {
				want.texts++
				want.size += e.text.Memory()
			}
			if e.bound != nil {
				want.bound++
				want.kept += e.bound.size()
			}
			for _, b := range e.outstanding {
				want.kept += b.size()
			}
			want.matter += count(e.matters())
			if e.text == nil && !e.matters() {
				s.t.Errorf("%s: a name is kept that stands for nothing", what)
			}
		}
		if want.texts != table.texts || want.size != table.size || want.bound != table.bound || want.kept != table.kept || want.matter != table.matter {
			s.t.Errorf("%s (portals: %t): counted %+v, there are %+v", what, portal, table, want)
		}
	}
}
