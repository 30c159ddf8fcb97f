package calls

import (
	"crypto/md5"
	"encoding/hex"
	"errors"
	"fmt"
	"regexp"
	"strconv"
	"strings"

	"mbusproxy/engine/refusal"
	"mbusproxy/sqlfuncs"
)

// runBatch is how many messages run_on_<q> takes at once.
const runBatch = 100

// Site is what the SQL of a call depends on in the database where it runs.
type Site struct {
	Ordered bool // messages wait for others
}

// PreludeCall is a call that takes a prelude statement: one of its own, which runs on the client's session, in its
// transaction, before the statement that holds the call.
type PreludeCall struct {
	Func *sqlfuncs.Func
	Name string             // as called
	Args map[string]*string // by the parameters' first names; nil for null
	// Expressions has SQL for the arguments that must be evaluated, as Func.Params say with
	// Computed; they are not among Args.
	Expressions map[string]string
	Number      int    // of the call in its text
	Secret      string // of the session, for the markers of errors
	// Rewrite gives the text that a statement handed over as an argument becomes: it may hold calls
	// as well. Its errors are shown to the client.
	Rewrite func(text string) (string, error)
	// Guard is an expression that is evaluated first, and may fail; "" for none.
	Guard string
}

// Preludes returns the prelude statements of a call, in the order in which they run. Refusals are of type *refusal.Error.
func (t *Texts) Preludes(site Site, call PreludeCall) ([]string, error) {
	var code string
	var err error
	switch call.Func.Serves {
	case "create_view", "create_view_prop":
		return t.createView(site, call)
	case "run_on":
		code, err = t.runOn(site, call)
	case "process_queue":
		code, err = t.processQueue(call)
	default:
		panic("no prelude statement for function " + call.Func.Name)
	}
	if err != nil {
		return nil, err
	}
	if call.Guard != "" {
		code = "begin\n" + guardBlock(call.Guard) + ";\n" + code + ";\nend"
	}
	return []string{doBlock(code)}, nil
}

func (t *Texts) runOn(site Site, call PreludeCall) (string, error) {
	exec, err := call.statementText("exec")
	if err != nil {
		return "", err
	}
	queue := sqlfuncs.QuoteLiteral(call.text("qname"))
	consume := t.statement(site, "consumen", "(mbus4_call.consumen).*", call.mark(), fmt.Sprintf("select 1::bigint, %s::pg_catalog.text, 'default'::pg_catalog.text, %d", queue, runBatch))
	take := t.statement(site, "take_from_q_by_c", "(mbus4_call.take_from).* into mbus4_message", call.mark(), fmt.Sprintf("select 1::bigint, %s::pg_catalog.text, 'default'::pg_catalog.text, mbus4_message.iid", queue))
	bury := t.statement(site, "post", "mbus4_call.post into mbus4_iid", call.mark(), t.fill("prelude/buried", newScope(shape{})))
	return t.fill("prelude/run_on", map[string]string{
		"Consume": consume,
		"Text":    exec,
		"Bury":    bury,
		"Retry": fmt.Sprintf("%s.%s('%s', row(null, mbus4_message)::mbus4.retry_target, mbus4_error, null, null)",
			sqlfuncs.Schema, t.helperName(retry), call.mark()),
		"Queue": fmt.Sprintf(`pg_catalog.lower(%s collate "C")`, queue),
		"Take":  take,
		"Call":  strconv.Itoa(call.Number),
		"Error": call.ownError(),
	}), nil
}

func (t *Texts) processQueue(call PreludeCall) (string, error) {
	process, err := call.processID()
	if err != nil {
		return "", err
	}
	handler, err := call.statementText("handler")
	if err != nil {
		return "", err
	}
	var policy strings.Builder
	for _, p := range call.Func.Params[2:] {
		policy.WriteString(call.setting("mbus4_"+p.Name, p))
	}
	return t.fill("prelude/process_queue", map[string]any{"Error": call.ownError(), "Process": process, "Text": handler, "Policy": policy.String(), "Parts": scope{}}), nil
}

// setting is SQL that sets a variable to the value of an argument.
func (c PreludeCall) setting(variable string, p sqlfuncs.Param) string {
	cast := p.Type.SQL()
	if expression, ok := c.Expressions[p.Name]; ok {
		return evaluation(variable, expression, cast) + "\n    "
	}
	if given := c.Args[p.Name]; given != nil {
		return variable + " := " + sqlfuncs.QuoteLiteral(*given) + "::" + cast + ";\n    "
	}
	return ""
}

// statementText is SQL that sets mbus4_text, which is null before, to the statement that an
// argument is. One that must be evaluated cannot be rewritten any more, so it must hold no calls.
func (c PreludeCall) statementText(param string) (string, error) {
	if expression, ok := c.Expressions[param]; ok {
		name := sqlfuncs.Schema + "." + c.Name
		return fmt.Sprintf(`%s
    if mbus4_text ~* %s then
        raise exception using errcode = '0A000', message = %s, hint = %s;
    end if;`, evaluation("mbus4_text", expression, "pg_catalog.text"), sqlfuncs.QuoteLiteral(callOfOurs),
			sqlfuncs.QuoteLiteral(fmt.Sprintf("argument %s of %s must be known before the statement runs, because it contains calls of %s", param, name, sqlfuncs.Schema)),
			sqlfuncs.QuoteLiteral(fmt.Sprintf("Give %s as a literal or as a bind parameter, perhaps with || between such.", param))), nil
	}
	given := c.Args[param]
	if given == nil {
		return "", nil
	}
	text, err := c.Rewrite(*given)
	if err != nil {
		return "", err
	}
	return "mbus4_text := " + sqlfuncs.QuoteLiteral(text) + ";", nil
}

// callOfOurs is a regular expression for a text with calls of functions of ours; a table's columns
// may follow its name, too.
const callOfOurs = `(?<!into\s*)"?mbus4"?\s*\.\s*"?\w+"?\s*\(`

// evaluation is PL/pgSQL that sets a variable to the value of an expression, which ends in no
// comment. In a text of its own the expression sees no variables.
func evaluation(variable, expression, cast string) string {
	return "execute " + sqlfuncs.QuoteLiteral("select ("+expression+")::"+cast) + " into strict " + variable + ";"
}

const (
	noProcess   = "the process must not be null"
	processHint = "Give the number by which this process is known to the queue, for example pg_backend_pid()."
)

// processID is SQL that sets mbus4_process to the number of the process, which it reads as the server would.
func (c PreludeCall) processID() (string, error) {
	if expression, ok := c.Expressions["current_process_id"]; ok {
		return evaluation("mbus4_process", expression, "pg_catalog.int4") + `
    if mbus4_process is null then
        raise exception using errcode = '` + refusal.NullValue + `', message = '` + noProcess + `', hint = '` + processHint + `';
    end if;`, nil
	}
	process, err := processNumber(c.Args["current_process_id"])
	return "mbus4_process := " + strconv.FormatInt(process, 10) + ";", err
}

func processNumber(text *string) (int64, error) {
	if text == nil {
		return 0, &refusal.Error{Code: refusal.NullValue, Message: noProcess, Hint: processHint}
	}
	process, err := strconv.ParseInt(strings.TrimSpace(*text), 10, 32)
	switch {
	case errors.Is(err, strconv.ErrRange):
		return 0, &refusal.Error{Code: "22003", Message: fmt.Sprintf("value %q is out of range for type integer", *text), Hint: processHint}
	case err != nil:
		return 0, &refusal.Error{Code: refusal.InvalidText, Message: fmt.Sprintf("invalid input syntax for type integer: %q", *text), Hint: processHint}
	}
	return process, nil
}

func (t *Texts) createView(site Site, call PreludeCall) (statements []string, err error) {
	queue, consumer := sqlfuncs.Fold(call.text("qname")), sqlfuncs.Fold(call.text("cname"))
	view, err := call.viewName(queue)
	if err != nil {
		return nil, err
	}
	columns := []viewColumn{{"data", sqlfuncs.HstoreType}}
	if call.Func.Serves == "create_view_prop" {
		columns = append(columns, viewColumn{"properties", sqlfuncs.HstoreType})
		if isTrue(call.text("with_delay")) {
			columns = append(columns, viewColumn{"delayed_until", "timestamp"})
		}
		if isTrue(call.text("with_expire")) {
			columns = append(columns, viewColumn{"expires", "timestamp"})
		}
	}
	given := map[string]string{}
	var declared, read, inserted []string
	for i, c := range columns {
		given[c.name] = "$" + strconv.Itoa(i+1)
		declared = append(declared, c.name+" "+c.typ)
		read = append(read, "(mbus4_call.consume)."+c.name)
		inserted = append(inserted, "new."+c.name)
	}
	or := func(name, otherwise string) string {
		if g, ok := given[name]; ok {
			return g
		}
		return otherwise
	}
	noHstore := "null::" + sqlfuncs.HstoreType
	quoted := sqlfuncs.QuoteLiteral(queue)
	consume := t.statement(site, "consume", strings.Join(read, ", "), storedMark, "select 1::bigint, "+quoted+"::pg_catalog.text, "+sqlfuncs.QuoteLiteral(consumer)+"::pg_catalog.text")
	post := t.statement(site, "post", "mbus4_call.post", storedMark, fmt.Sprintf("select 1::bigint, %s::pg_catalog.text, $1, %s, %s, %s, %s, null::pg_catalog.text", quoted, noHstore,
		or("properties", noHstore), or("delayed_until", "null::timestamp"), or("expires", "null::timestamp")))
	sum := md5.Sum([]byte(view))
	values := map[string]string{
		"Guard":       call.Guard,
		"Mark":        call.mark(),
		"NoConsumer":  sqlfuncs.Schema + "." + t.helperName(noConsumer),
		"Queue":       quoted,
		"Consumer":    sqlfuncs.QuoteLiteral(consumer),
		"Name":        "view_" + hex.EncodeToString(sum[:8]),
		"View":        view,
		"Columns":     strings.Join(declared, ", "),
		"NewColumns":  strings.Join(inserted, ", "),
		"ConsumeBody": sqlfuncs.QuoteLiteral(consume),
		"PostBody":    sqlfuncs.QuoteLiteral(post),
	}
	for _, part := range []string{"is_there", "consume", "post", "view", "rule"} {
		statements = append(statements, t.fill("prelude/create_view_"+part, values))
	}
	return statements, nil
}

// viewColumn is a column of a view: one of qt_model's.
type viewColumn struct{ name, typ string }

// storedMark is the mark in the functions of views and in the engine's own statements, which have
// neither number nor secret.
const storedMark = "0"

// mark is what stands in the marker of an error of this call: its number and the session's secret.
func (c PreludeCall) mark() string { return strconv.Itoa(c.Number) + " " + c.Secret }

// ownError is a regular expression for a message of the server's that quotes a marker of this session, with the
// error's own message in parentheses.
func (c PreludeCall) ownError() string {
	return sqlfuncs.QuoteLiteral("mbus4-error [0-9]+ " + c.Secret + ` [0-9A-Z]{5} (.*)"$`)
}

// text is the value of an argument, "" for null.
func (c PreludeCall) text(name string) string {
	if v := c.Args[name]; v != nil {
		return *v
	}
	return ""
}

// viewName is the quoted name of the view that a call makes.
func (c PreludeCall) viewName(queue string) (string, error) {
	given := c.text("viewname")
	if c.Func.Serves == "create_view_prop" {
		schema := c.text("sname")
		if schema == "" {
			schema = "public"
		}
		if given == "" {
			return "", &refusal.Error{Code: refusal.NullValue, Message: "the view must have a name", Hint: "Give it as viewname."}
		}
		return sqlfuncs.QuoteIdent(schema) + "." + sqlfuncs.QuoteIdent(given), nil
	}
	if given == "" {
		return "public." + sqlfuncs.QuoteIdent(queue+"_q"), nil
	}
	parts := nameParts.FindStringSubmatch(given)
	if parts == nil {
		return "", &refusal.Error{
			Code:    "42602", // invalid_name
			Message: fmt.Sprintf("%q is not a valid name for a view", given),
			Hint:    "Write it as in SQL: name, schema.name or \"Schema\".\"Name\".",
		}
	}
	name := identifier(parts[2])
	if parts[1] != "" {
		name = identifier(strings.TrimSuffix(parts[1], ".")) + "." + name
	}
	return name, nil
}

// nameParts reads a name with or without a schema.
var nameParts = regexp.MustCompile(`^\s*((?:"(?:[^"]|"")+"|[\pL_][\pL\pN_$]*)\.)?("(?:[^"]|"")+"|[\pL_][\pL\pN_$]*)\s*$`)

// identifier quotes an identifier as written, which is folded unless it was quoted.
func identifier(s string) string {
	if strings.HasPrefix(s, `"`) {
		return s
	}
	return sqlfuncs.QuoteIdent(sqlfuncs.Fold(s))
}

// isTrue reads a boolean literal as Postgres does. The abbreviations nobody writes, such as o for on, are left out.
func isTrue(s string) bool {
	switch strings.ToLower(strings.TrimSpace(s)) {
	case "t", "tr", "tru", "true", "y", "ye", "yes", "on", "1":
		return true
	}
	return false
}

// statement is a whole statement around the text of a call: a query for columns of the result's row.
// args selects the arguments, n first.
func (t *Texts) statement(site Site, serves, columns, mark, args string) string {
	use := sqlfuncs.Use{
		Given:   map[string]bool{"headers": true, "iid": true},
		Ordered: site.Ordered,
	}
	f := funcNamed(serves)
	return t.whole(f, use, ownNames(mark), f.Arguments(nil), columns, args)
}

// doBlock makes a DO statement of PL/pgSQL code. The block itself is not stored.
func doBlock(code string) string {
	tag := "$mbus4$"
	for i := 1; strings.Contains(code, tag); i++ {
		tag = "$mbus4_" + strconv.Itoa(i) + "$"
	}
	return "do " + tag + "\n" + code + tag
}
