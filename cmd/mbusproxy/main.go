// Command mbusproxy stands between clients and a Postgres server and serves the functions of the
// schema mbus4. This package holds commands, flags, signals and exit codes; the rest is internal/app's.
package main

import (
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/spf13/cobra"
)

// Exit codes.
const (
	exitOK      = 0
	exitFailure = 1 // the program could not do what was asked
	exitUsage   = 2 // what was asked makes no sense
	exitNothing = 3 // there was no message

	exitInterrupted = 130 // a signal came first; as shells have it for SIGINT
)

// streams are what a command gets of its process.
type streams struct {
	out  io.Writer // results
	err  io.Writer // errors and the log
	args []string  // the command line, of which the first is the command
}

// commands are the words that may follow mbusproxy, in the order of the help.
func commands(std streams) []*cobra.Command {
	return []*cobra.Command{
		devCommand(std),
		serveCommand(std),
		initCommand(std),
		explainCommand(std),
		healthcheckCommand(std),
		doctorCommand(std),
		topCommand(std),
		benchCommand(std),
		queuesCommand(std),
		peekCommand(std),
		whyCommand(std),
		postCommand(std),
		consumeCommand(std),
		deadCommand(std),
		versionCommand(std),
	}
}

func main() {
	os.Exit(run(os.Args[1:], streams{out: os.Stdout, err: os.Stderr}))
}

// run dispatches to a command and turns its error into words and an exit code.
func run(args []string, std streams) int {
	if len(args) == 0 {
		root := rootCommand(std)
		root.SetOut(std.err)
		_ = root.Help()
		return exitUsage
	}
	switch args[0] {
	case "-h", "-help":
		args[0] = "--help"
	case "-version", "--version", "-v":
		args[0] = "version"
	}
	if strings.HasPrefix(args[0], "-") && args[0] != "--help" {
		return report(std.err, unknown(args[0], nil))
	}
	std.args = args
	root := rootCommand(std)
	root.SetArgs(normalized(root, args))
	if err := root.Execute(); err != nil {
		return report(std.err, err)
	}
	return exitOK
}

// rootCommand is mbusproxy, with all its commands.
func rootCommand(std streams) *cobra.Command {
	root := &cobra.Command{
		Use:           "mbusproxy COMMAND [FLAGS]",
		Short:         "a proxy for Postgres that serves message queues",
		Long:          about,
		SilenceErrors: true, // report prints them
		SilenceUsage:  true,
		Args:          cobra.ArbitraryArgs, // which are unknown commands, as RunE says
		RunE: func(root *cobra.Command, args []string) error {
			if len(args) == 0 {
				return unknown("--", nil) // the only way to come here without any
			}
			return unknown(args[0], root.SuggestionsFor(args[0]))
		},
		DisableAutoGenTag:     true,
		DisableFlagsInUseLine: true,
	}
	root.SetOut(std.out)
	root.SetErr(std.err)
	all := commands(std)
	root.AddCommand(all...)
	all = append(all, withCobras(root))
	root.SetFlagErrorFunc(func(c *cobra.Command, err error) error { return misuse(c, wording(err)) })
	root.SetHelpFunc(func(c *cobra.Command, _ []string) {
		if c == root {
			usage(root.OutOrStdout(), all)
			return
		}
		helpOf(std.out, c)
	})
	return root
}

const (
	about         = "mbusproxy is a proxy for Postgres that serves message queues as functions of the schema mbus4."
	listsCommands = "`mbusproxy -h` lists the commands"
)

func unknown(name string, like []string) error {
	hint := listsCommands
	if len(like) > 0 {
		hint = fmt.Sprintf("perhaps `mbusproxy %s`; %s", like[0], hint)
	}
	return &usageError{message: fmt.Sprintf("unknown command %q", name), hint: hint}
}

// normalized gives the flags of the command that args names two dashes.
func normalized(root *cobra.Command, args []string) []string {
	if args[0] == cobra.ShellCompRequestCmd || args[0] == cobra.ShellCompNoDescRequestCmd {
		return args // what is to be completed is no command line yet
	}
	command, words := root, 0
	for words < len(args) {
		var next *cobra.Command
		for _, c := range command.Commands() {
			if c.Name() == args[words] {
				next = c
			}
		}
		if next == nil {
			break
		}
		command, words = next, words+1
	}
	return append(args[:words:words], twoDashes(command.Flags(), args[words:])...)
}
