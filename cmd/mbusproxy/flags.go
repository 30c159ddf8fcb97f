package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"

	"github.com/spf13/pflag"
)

const envPrefix = "MBUS_"

// flagSet is the flags of one command. A value comes from the command line, else from the
// environment variable MBUS_<FLAG> (dashes as underscores), else from the file that --config
// names, else it is the default.
type flagSet struct {
	*pflag.FlagSet
	synopsis string
	about    string
	config   *string // file that --config names; nil: the command has no --config
	// ofServe says that the file is that of serve, and so has settings that the command does not know.
	ofServe bool
	// takes is how many arguments the command takes besides flags, which may stand before and behind them.
	takes     int
	arguments []string // these, after parsing
}

func newFlagSet(command, synopsis, about string) *flagSet {
	f := &flagSet{FlagSet: pflag.NewFlagSet(command, pflag.ContinueOnError), synopsis: synopsis, about: about}
	f.SetOutput(io.Discard) // report prints the errors, and help the help
	return f
}

// withConfig gives the command a --config flag.
func (f *flagSet) withConfig() {
	f.config = f.String("config", "", "`FILE` read settings from this file of lines `key = value`, whose keys are the flags' names")
}

// parse fills the flags in from all sources, where no cobra command has read the command line.
func (f *flagSet) parse(args []string) error {
	if err := f.Parse(twoDashes(f.FlagSet, args)); err != nil {
		return f.misuse(wording(err))
	}
	if err := f.take(f.Args()); err != nil {
		return err
	}
	return f.settle()
}

// take notes the arguments that are no flags.
func (f *flagSet) take(arguments []string) error {
	if len(arguments) > f.takes {
		return f.misuse(fmt.Sprintf("unexpected argument %q", arguments[f.takes]))
	}
	f.arguments = arguments
	return nil
}

// settle fills in what the command line does not give.
func (f *flagSet) settle() error {
	given := map[string]bool{}
	f.VisitAll(func(fl *pflag.Flag) { given[fl.Name] = fl.Changed })
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
	f.VisitAll(func(fl *pflag.Flag) {
		value := os.Getenv(envName(fl.Name))
		if value == "" || given[fl.Name] || failed != nil {
			return
		}
		if err := f.Set(fl.Name, value); err != nil {
			failed = f.misuse(fmt.Sprintf("invalid value %q in the environment variable %s: %s", value, envName(fl.Name), cause(err)))
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
			return f.misuse(fmt.Sprintf("invalid value %q for %s in %s: %s", s.value, s.key, where, cause(err)))
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

// wording turns pflag's errors into ours.
func wording(err error) string {
	var (
		unknown  *pflag.NotExistError
		valued   *pflag.ValueRequiredError
		unusable *pflag.InvalidValueError
	)
	switch {
	case errors.As(err, &unknown) && unknown.GetSpecifiedShortnames() != "":
		return "unknown flag -" + unknown.GetSpecifiedShortnames()
	case errors.As(err, &unknown):
		return "unknown flag --" + unknown.GetSpecifiedName()
	case errors.As(err, &valued):
		return fmt.Sprintf("the flag --%s needs a value", valued.GetSpecifiedName())
	case errors.As(err, &unusable):
		return fmt.Sprintf("invalid value %q for flag --%s: %s", unusable.GetValue(), unusable.GetFlag().Name, cause(err))
	}
	return err.Error()
}

// cause is why a value cannot be used, without the value and the names of Go's functions.
func cause(err error) string {
	var (
		unusable *pflag.InvalidValueError
		number   *strconv.NumError
	)
	if errors.As(err, &unusable) {
		err = unusable.Unwrap()
	}
	if errors.As(err, &number) {
		err = number.Err
	}
	return err.Error()
}

// list is a flag that may be given several times, or once with commas.
type list []string

func (l *list) String() string { return strings.Join(*l, ",") }

// Type is what a value is called where the usage does not say.
func (*list) Type() string { return "list" }

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
