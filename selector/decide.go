package selector

import "strings"

// decide makes the Condition of an expression: 1, 0 or -1.
func decide(e *expr) string {
	switch {
	case e.err == "":
		return "case when " + e.val + " then 1 else 0 end"
	case e.nulls: // where there is a value there was no error
		return "coalesce((" + e.val + ")::pg_catalog.int4, case when " + e.failsAtNull() + " then -1 else 0 end)"
	case len(e.parts) > 0:
		if c := decideParts(e.parts); len(c) <= maxCondition {
			return c
		}
	}
	return "case when " + e.err + " then -1 when " + e.val + " then 1 else 0 end"
}

func (e *expr) failsAtNull() string {
	if e.errNull != "" {
		return e.errNull
	}
	return e.err
}

// decideParts makes the Condition of an AND whose operands may fail so that those that are true are evaluated once:
// each gives null if it is true, else the result. Where one is null the others may still fail.
func decideParts(parts []*expr) string {
	var out []string
	for i, p := range parts {
		rest := shortCutErr("false", parts[i+1:])
		switch {
		case p.err != "" && p.nulls:
			out = append(out, "case when "+p.val+" then null else coalesce(("+p.val+")::pg_catalog.int4, case when "+or(p.failsAtNull(), rest)+" then -1 else 0 end) end")
			continue
		case p.err != "":
			out = append(out, "case when "+p.err+" then -1 when "+p.val+" then null")
		default:
			out = append(out, "case when "+p.val+" then null")
		}
		if rest != "" {
			out[i] += " when " + p.val + " is null and " + rest + " then -1"
		}
		out[i] += " else 0 end"
	}
	return "coalesce(" + strings.Join(out, ", ") + ", 1)"
}
