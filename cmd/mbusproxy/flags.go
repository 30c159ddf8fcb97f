package main

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"strings"
)

const envPrefix = "MBUS_"

// flagSet is the flags of one command. A value comes from the command line, else from the
// environment variable MBUS_<FLAG> (dashes as underscores), else from the file that --config
// names, else it is the default.
type flagSet struct {
	*flag.FlagSet
	synopsis string
	about    string
	config   *string // file that --config names; nil: the command has no --config
	// ofServe says that the file is that of serve, and so has settings that the command does not know.
	ofServe bool
	// takes is how many arguments the command takes besides flags, which may stand before and behind them.
	takes     int
	arguments []string // these, after parse
}

func newFlagSet(command, synopsis, about string) *flagSet {
	f := &flagSet{FlagSet: flag.NewFlagSet(command, flag.ContinueOnError), synopsis: synopsis, about: about}
	f.SetOutput(io.Discard) // report prints the errors, and help the help
	return f
}

// withConfig gives the command a --config flag.
func (f *flagSet) withConfig() {
	f.config = f.String("config", "", "`FILE` with lines `key = value`; the keys are the flags' names")
}

// parse fills the flags in from all sources. It returns flag.ErrHelp after printing the help.
func (f *flagSet) parse(args []string, std streams) error {
	for more := true; more; {
		if err := f.Parse(args); err != nil {
			if errors.Is(err, flag.ErrHelp) {
				f.help(std.out)
				return err
			}
			return f.misuse(wording(err))
		}
		if more = f.NArg() > 0; more {
			if len(f.arguments) == f.takes {
				return f.misuse(fmt.Sprintf("unexpected argument %q", f.Arg(0)))
			}
			f.arguments, args = append(f.arguments, f.Arg(0)), f.Args()[1:]
		}
	}
	given := map[string]bool{}
	f.Visit(func(fl *flag.Flag) { given[fl.Name] = true })
	if err := f.fromEnvironment(given); err != nil {
		return err
	}
	if f.config == nil || *f.config == "" {
		return nil
	}
	return f.fromFile(*f.config, given)
}

func (f *flagSet) fromEnvironment(given map[string]bool) error {
	var failed error
	f.VisitAll(func(fl *flag.Flag) {
		value := os.Getenv(envName(fl.Name))
		if value == "" || given[fl.Name] || failed != nil {
			return
		}
		if err := f.Set(fl.Name, value); err != nil {
			failed = f.misuse(fmt.Sprintf("invalid value %q in the environment variable %s: %v", value, envName(fl.Name), err))
		}
		given[fl.Name] = true
	})
	return failed
}

func (f *flagSet) fromFile(path string, given map[string]bool) error {
	settings, err := readConfigFile(path)
	if err != nil {
		return err
	}
	for _, s := range settings {
		where := fmt.Sprintf("%s, line %d", path, s.line)
		switch {
		case f.Lookup(s.key) == nil && f.ofServe:
			continue
		case f.Lookup(s.key) == nil || s.key == "config":
			return f.misuse(fmt.Sprintf("unknown setting %q in %s", s.key, where))
		case given[s.key]:
			continue
		}
		if err := f.Set(s.key, s.value); err != nil {
			return f.misuse(fmt.Sprintf("invalid value %q for %s in %s: %v", s.value, s.key, where, err))
		}
	}
	return nil
}

func (f *flagSet) misuse(message string) error {
	return &usageError{message: message, hint: fmt.Sprintf("`mbusproxy %s -h` lists the flags", f.Name())}
}

// missing says that a flag has to be given.
func (f *flagSet) missing(name string) error {
	return f.misuse(fmt.Sprintf("%s needs --%s (or the environment variable %s)", f.Name(), name, envName(name)))
}

func envName(flagName string) string {
	return envPrefix + strings.ToUpper(strings.ReplaceAll(flagName, "-", "_"))
}

// wording turns the flag package's errors into ours, with two dashes.
func wording(err error) string {
	text := err.Error()
	if name, ok := strings.CutPrefix(text, "flag provided but not defined: -"); ok {
		return "unknown flag --" + name
	}
	if name, ok := strings.CutPrefix(text, "flag needs an argument: -"); ok {
		return fmt.Sprintf("the flag --%s needs a value", name)
	}
	return strings.Replace(text, " for flag -", " for flag --", 1)
}

func (f *flagSet) help(w io.Writer) {
	fmt.Fprintf(w, "Usage: mbusproxy %s\n\n%s\n\n", f.synopsis, f.about)
	f.VisitAll(func(fl *flag.Flag) {
		value, text := flag.UnquoteUsage(fl)
		fmt.Fprintf(w, "  %s\n      %s", strings.TrimSpace("--"+fl.Name+" "+value), text)
		if fl.DefValue != "" && fl.DefValue != "false" && fl.DefValue != "0" {
			fmt.Fprintf(w, " (default %s)", fl.DefValue)
		}
		fmt.Fprintf(w, " [%s]\n", envName(fl.Name))
	})
	fmt.Fprint(w, "\nEvery flag can also be given as the environment variable in brackets; the command line wins.\n")
}

// list is a flag that may be given several times, or once with commas.
type list []string

func (l *list) String() string { return strings.Join(*l, ",") }

func (l *list) Set(value string) error {
	for _, part := range strings.Split(value, ",") {
		if part = strings.TrimSpace(part); part != "" {
			*l = append(*l, part)
		}
	}
	if len(*l) == 0 {
		return errors.New("it is empty")
	}
	return nil
}
