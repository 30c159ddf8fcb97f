package explain

import (
	"context"
	"fmt"
	"io"
	"strings"
	"unicode/utf8"

	"mbusproxy/engine/calls"
	"mbusproxy/internal/rewriter"
	"mbusproxy/internal/told"
	"mbusproxy/rewrite"
	"mbusproxy/rewrite/detect"
	"mbusproxy/rewrite/parse"
	"mbusproxy/rewrite/plan"
)

// Config says what Run explains, and where it writes.
type Config struct {
	Text string // what a client sends: one statement or several, in UTF-8
	// Admin is the DSN of the database in which it would run; "": one without messages that wait for
	// others, with hstore in public.
	Admin       string
	Prepared    bool     // the text comes in a Parse and not in a Query
	Unqualified []string // as in app.Config
	JSON        bool     // an array with an object for each statement, instead of SQL with comments
	Out         io.Writer
}

// Run writes how the statements of a text are served, and the SQL that the server gets. It changes
// nothing in the database. A
// *told.Error tells that the database cannot be looked at, that the text cannot be read, or that a statement is refused.
func Run(ctx context.Context, cfg Config) error {
	if !utf8.ValidString(cfg.Text) || strings.Contains(cfg.Text, "\x00") {
		return &told.Error{Message: "the text is not in UTF-8", Hint: "explain reads UTF-8 without zero bytes"}
	}
	unqualified, err := detect.NewUnqualified(cfg.Unqualified)
	if err != nil {
		return &told.Error{Message: "--unqualified: " + err.Error(), Hint: "`mbusproxy explain -h` explains the flags", Err: err}
	}
	e := newExplainer(cfg, unqualified)
	if e.site, err = siteFor(ctx, cfg.Admin, e.parser); err != nil {
		return told.Of(err)
	}
	e.readStatements(ctx)
	e.remark("%s", e.site)
	if cfg.Prepared && len(e.statements) > 1 {
		e.remark("a Parse holds one statement: of several the server says so")
	}
	outcome := e.explain(ctx)
	if ctx.Err() != nil {
		return ctx.Err()
	}
	shown := []byte(e.out.String())
	if cfg.JSON {
		if shown, err = e.document(); err != nil {
			return fmt.Errorf("writing the explanation: %w", err)
		}
	}
	if _, err := cfg.Out.Write(shown); err != nil {
		return fmt.Errorf("writing the explanation: %w", err)
	}
	return outcome
}

// explainer explains one text. What it shows has the blank in the place of the session's secret.
type explainer struct {
	text        string
	texts       *calls.Texts
	parser      *parse.Parser
	unqualified *detect.Unqualified
	rewrite     *rewrite.Rewriter
	session     plan.Session
	site        site
	statements  []int // where the statements of the text begin, in bytes; the whole text is one where it cannot be parsed
	unread      error // why it cannot be parsed; nil: it can
	out         strings.Builder
	asked       *string      // the query about names without the schema; nil: there is none
	told        []*statement // the same as out, for JSON
}

func newExplainer(cfg Config, unqualified *detect.Unqualified) *explainer {
	e := &explainer{
		text: cfg.Text, texts: calls.New(), parser: parse.New(), unqualified: unqualified,
		session: plan.Session{Encoding: "UTF8", Prepared: cfg.Prepared},
	}
	e.rewrite = rewrite.New(e.texts, unqualified, e.parser)
	return e
}

func (e *explainer) env() (plan.Env, *plan.Refusal) {
	return rewriter.Environment(onSite{e.site, e.parser}), nil
}

// readStatements finds out where the statements of the text begin.
func (e *explainer) readStatements(ctx context.Context) {
	tree, err := e.parser.Parse(ctx, e.text)
	e.unread = err
	for _, raw := range tree.GetStmts() {
		e.statements = append(e.statements, int(raw.StmtLocation))
	}
	if len(e.statements) == 0 {
		e.statements = []int{0}
	}
}

// statementAt returns which statement a byte of the text belongs to.
func (e *explainer) statementAt(offset int) int {
	i := len(e.statements) - 1
	for i > 0 && e.statements[i] > offset {
		i--
	}
	return i
}

// noCall is why most texts are forwarded.
const noCall = "no call that is served"

// explain writes everything about the text. The error is that of a text that cannot be read or of the first refusal.
func (e *explainer) explain(ctx context.Context) error {
	e.settleNames(ctx)
	p := e.rewrite.Rewrite(ctx, e.text, e.session, e.env)
	switch {
	case p == nil && e.unread != nil && detect.Holds(e.text, false, e.unqualified).Calls > 0:
		e.remark("forwarded as it is, and its calls are not served: mbusproxy cannot read it, %s", e.unread)
		e.addWhole(outcomeUnread, e.unread.Error())
		return &told.Error{
			Message: "the text cannot be read: " + e.unread.Error(),
			Hint:    "texts are read with the grammar of Postgres 17; the proxy forwards what it cannot read, and the server says what is wrong",
			Err:     e.unread,
		}
	case p == nil:
		e.remark("forwarded as it is: %s", noCall)
		e.addWhole(outcomeForwarded, noCall)
		return nil
	case p.IsForwarded():
		const why = "it creates a function or a procedure, in which no calls are served"
		e.remark("forwarded as it is: %s", why)
		e.addWhole(outcomeForwarded, why)
		return nil
	case p.ClientText() == "": // refused as a whole
		e.statements = []int{0}
	}
	return e.show(ctx, p)
}

// settleNames takes the calls without the schema for ours, as in a session that says so, and shows
// how the session is asked.
func (e *explainer) settleNames(ctx context.Context) {
	candidates := e.rewrite.Candidates(ctx, e.text, e.session)
	if len(candidates) == 0 {
		return
	}
	asked := make([]calls.Unqualified, len(candidates))
	for i, c := range candidates {
		asked[i] = calls.Unqualified(c)
	}
	e.remark("names without the schema: the session is asked first whether they mean functions of mbus4,")
	query := e.sql(e.texts.ProbeQuery(asked))
	e.asked = &query
	e.remark("and if they do:")
	e.session.Answer = strings.Repeat("1", len(candidates))
}

// refused is the error for a text of which a statement is refused. The hint is in the explanation.
func refused(r *plan.Refusal) error {
	return &told.Error{Message: fmt.Sprintf("a statement is refused with %s: %s", r.Code, r.Message), Err: r}
}
