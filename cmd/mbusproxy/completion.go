package main

import "github.com/spf13/cobra"

// loadedBy is the line by which each shell loads its script.
var loadedBy = map[string]string{ //nolint:gochecknoglobals // constant
	"bash":       "source <(mbusproxy completion bash)",
	"zsh":        "source <(mbusproxy completion zsh)",
	"fish":       "mbusproxy completion fish | source",
	"powershell": "mbusproxy completion powershell | Out-String | Invoke-Expression",
}

// withCobras adds the commands that cobra has for all programs, and describes them as ours are. It
// returns the one that is listed.
func withCobras(root *cobra.Command) (completion *cobra.Command) {
	root.InitDefaultHelpCmd()
	root.InitDefaultCompletionCmd()
	for _, c := range root.Commands() {
		switch c.Name() {
		case "help":
			c.Use, c.DisableFlagsInUseLine = "help [COMMAND]", true
			c.Short, c.Long = "prints the help of a command", "Prints the help of a command, or the list of commands."
		case "completion":
			completion = c
			// cobra's own takes anything for a call for help.
			c.Args, c.RunE = cobra.ArbitraryArgs, func(*cobra.Command, []string) error {
				return &usageError{message: "completion needs one of bash, fish, powershell and zsh", hint: "`mbusproxy completion -h` says what they do"}
			}
			c.Use, c.DisableFlagsInUseLine = "completion COMMAND [FLAGS]", true
			c.Short = "prints a script by which a shell completes commands and flags"
			c.Long = "Prints a script by which a shell completes commands, flags, their values, and names of queues. " +
				"The packages install it for bash, zsh and fish."
			for _, shell := range c.Commands() {
				shell.DisableFlagsInUseLine = true
				shell.Short = "prints the script for " + shell.Name()
				shell.Long = "Prints the script for " + shell.Name() + ". To load it into the shell that is running:\n\n    " + loadedBy[shell.Name()] +
					"\n\nTo load it into every new shell, add that line to what the shell reads when it starts."
				if fl := shell.Flags().Lookup("no-descriptions"); fl != nil {
					fl.Usage = "offer commands and flags without their descriptions"
				}
			}
		}
	}
	return completion
}
