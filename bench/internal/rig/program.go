package rig

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
)

// Run is the main function of a program that measures, and returns its exit status. parsed is the
// error of reading its flags; measure says in ok whether all could be measured, and partly is what
// is said if not.
func Run(name, partly string, parsed error, measure func(ctx context.Context) (ok bool, err error)) (status int) {
	if errors.Is(parsed, flag.ErrHelp) {
		return 0
	}
	if parsed != nil {
		fmt.Fprintln(os.Stderr, name+":", parsed)
		return 2
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	ok, err := measure(ctx)
	switch {
	case ctx.Err() != nil:
		fmt.Fprintln(os.Stderr, name+": interrupted")
	case err != nil:
		fmt.Fprintln(os.Stderr, name+":", err)
	case !ok:
		fmt.Fprintln(os.Stderr, name+":", partly)
	default:
		return 0
	}
	return 1
}

// Scope is what the flags -only and -out say: what is measured, and where the report goes.
type Scope struct {
	only     *regexp.Regexp // nil: all
	text     string         // of only
	out      string         // file; "-": print only
	standard string         // the file that out is unless the flags say otherwise
}

// Flags adds the flags. what says of what -only is a regular expression; standard is the file of the report of all.
func (s *Scope) Flags(f *flag.FlagSet, what, standard string) {
	s.standard = standard
	f.StringVar(&s.text, "only", "", "`regexp` of "+what+"; prints only, unless -out is given")
	f.StringVar(&s.out, "out", "", "`file` to write, - for printing only (default "+standard+")")
}

// Read reads the flags' values.
func (s *Scope) Read() (err error) {
	if s.text != "" {
		if s.only, err = regexp.Compile(s.text); err != nil {
			return fmt.Errorf("reading -only: %w", err)
		}
	}
	switch {
	case s.out != "":
	case s.only != nil:
		s.out = "-" // a run of some must not replace the report of all
	default:
		s.out = s.standard
	}
	return nil
}

// Wants reports whether what has the name is measured.
func (s *Scope) Wants(name string) bool { return s.only == nil || s.only.MatchString(name) }

// Args are the flags as they stand in a report's table.
func (s *Scope) Args() (args []string) {
	if s.only != nil {
		args = append(args, fmt.Sprintf("-only '%s'", strings.ReplaceAll(s.text, "|", "\\|")))
	}
	if s.out != s.standard {
		args = append(args, "-out "+s.out)
	}
	return args
}

// Write writes the report where it belongs, and prints it.
func (s *Scope) Write(report string) error {
	if s.out != "-" {
		err := os.MkdirAll(filepath.Dir(s.out), 0o755)
		if err == nil {
			err = os.WriteFile(s.out, []byte(report), 0o644)
		}
		if err != nil {
			return fmt.Errorf("writing the report: %w", err)
		}
	}
	fmt.Println(report)
	return nil
}
