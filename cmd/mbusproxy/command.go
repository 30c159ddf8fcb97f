package main

import (
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// command makes a command of a flag set: run is called when all flags have their values.
func (f *flagSet) command(summary string, run func() error) *cobra.Command {
	f.takePlaceholders()
	_, arguments, _ := strings.Cut(f.synopsis, f.Name())
	words := strings.Fields(f.Name())
	c := &cobra.Command{
		Use:   words[len(words)-1] + arguments,
		Short: summary,
		Long:  wrap(f.about+"\n\nEvery flag can also be given as an environment variable: --a-flag as "+envPrefix+"A_FLAG; the command line wins.", 0),
		Args:  func(_ *cobra.Command, arguments []string) error { return f.take(arguments) },
		RunE: func(*cobra.Command, []string) error {
			if err := f.settle(); err != nil {
				return err
			}
			return run()
		},
		DisableFlagsInUseLine: true,
		DisableAutoGenTag:     true,
		ValidArgsFunction:     cobra.NoFileCompletions,
	}
	c.Flags().AddFlagSet(f.FlagSet)
	c.SetHelpFunc(func(c *cobra.Command, _ []string) { f.help(c.OutOrStdout()) })
	f.VisitAll(func(fl *pflag.Flag) {
		if values, ok := fl.Annotations[completes]; ok {
			_ = c.RegisterFlagCompletionFunc(fl.Name, cobra.FixedCompletions(values, cobra.ShellCompDirectiveNoFileComp)) // it fails where there is no flag, or twice
		}
	})
	return c
}

// completes is the annotation of a flag with the values that a shell offers.
const completes = "mbusproxy_values"

// oneOf says which values a flag has.
func (f *flagSet) oneOf(name string, values ...string) {
	annotate(f.Lookup(name), completes, values...)
}

// outputOf returns the value of --output, which is to be one of those that oneOf has said.
func (f *flagSet) outputOf() (string, error) {
	fl := f.Lookup("output")
	value, values := fl.Value.String(), fl.Annotations[completes]
	if !slices.Contains(values, value) {
		last := len(values) - 1
		return "", f.misuse("--output is " + strings.Join(values[:last], ", ") + " or " + values[last] + ", not " + value)
	}
	return value, nil
}

// misuse is an error in the command line of c.
func misuse(c *cobra.Command, message string) error {
	name := strings.TrimPrefix(c.CommandPath(), c.Root().Name()+" ")
	return &usageError{message: message, hint: fmt.Sprintf("`mbusproxy %s -h` lists the flags", name)}
}
