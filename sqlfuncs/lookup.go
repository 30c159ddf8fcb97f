package sqlfuncs

import "strings"

// Schema is the schema whose functions are served.
const Schema = "mbus4"

// Match is a function found by the name in a call.
type Match struct {
	Func *Func
	Name string // the name as called, folded to lower case
	// Readings are the values the name gives to the implied parameters: none where there are no such
	// parameters, one for most names of a family. A name such as consume_a_by_b_by_c has several;
	// which one holds is known only to the database.
	Readings [][]string
}

// byName is the index of the plain functions.
var byName = indexByName()

func indexByName() map[string]*Func {
	functions = append(functions, workQueue...)
	functions = append(functions, semaphores...)
	m := make(map[string]*Func, len(functions))
	for _, f := range functions {
		if f.Serves == "" {
			f.Serves = f.Name
		}
		if f.Pattern == "" {
			m[f.Name] = f
		}
	}
	return m
}

// All returns the functions of the catalogue: the message bus, the work queue, the semaphore.
func All() []*Func { return append([]*Func(nil), functions...) }

// Lookup finds the function that a call of mbus4.<name> means. Names of queues are lower case, so
// the case of a quoted name does not matter.
func Lookup(name string) (Match, bool) {
	name = Fold(name)
	if f, ok := byName[name]; ok {
		match := Match{Func: f, Name: name}
		if f.Implied > 0 {
			match.Readings = [][]string{f.Implies}
		}
		return match, true
	}
	for _, f := range functions {
		if f.Pattern == "" {
			continue
		}
		rest, ok := strings.CutPrefix(name, f.Pattern)
		if !ok || rest == "" {
			continue
		}
		if !f.By {
			return Match{Func: f, Name: name, Readings: [][]string{{rest}}}, true
		}
		if r := readings(rest); len(r) > 0 {
			return Match{Func: f, Name: name, Readings: r}, true
		}
	}
	return Match{}, false
}

// readings splits "<q>_by_<c>" at every place where it can be split.
func readings(rest string) [][]string {
	const by = "_by_"
	var out [][]string
	for i := 1; i+len(by) < len(rest); i++ {
		if strings.HasPrefix(rest[i:], by) {
			out = append(out, []string{rest[:i], rest[i+len(by):]})
		}
	}
	return out
}
