package main

import (
	"fmt"
	"io"
	"strings"
	"unicode/utf8"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

const (
	helpWidth  = 100 // of every line of help, in characters
	flagIndent = 6   // of a flag's description
)

const envAbout = "Every flag can also be given as the environment variable in brackets; the command line wins."

// placeholder is the annotation of a flag with the word that stands for its value in the help.
const placeholder = "mbusproxy_placeholder"

// takePlaceholders moves the placeholders from where the usages of the flags begin, in back quotes,
// to annotations. So usages are plain text wherever they are shown: in the help, in man pages and
// by shells.
func (f *flagSet) takePlaceholders() {
	f.VisitAll(func(fl *pflag.Flag) {
		if word, usage, ok := strings.Cut(strings.TrimPrefix(fl.Usage, "`"), "` "); ok && strings.HasPrefix(fl.Usage, "`") {
			annotate(fl, placeholder, word)
			fl.Usage = usage
		}
	})
}

// annotate gives a flag an annotation besides those that it has.
func annotate(fl *pflag.Flag, key string, values ...string) {
	if fl.Annotations == nil {
		fl.Annotations = map[string][]string{}
	}
	fl.Annotations[key] = values
}

// required marks flags that have to be given.
func (f *flagSet) required(names ...string) {
	for _, name := range names {
		f.Lookup(name).Usage += " (required)"
	}
}

// help prints the help of a command.
func (f *flagSet) help(w io.Writer) {
	fmt.Fprintf(w, "Usage: mbusproxy %s\n\n%s\n\n", f.synopsis, wrap(f.about, 0))
	flagHelp(w, f.FlagSet, func(fl *pflag.Flag) string { return " [" + envName(fl.Name) + "]" })
	fmt.Fprintf(w, "\n%s\n", wrap(envAbout, 0))
}

// flagHelp prints the flags that are not hidden, each with its default and with what tail adds.
func flagHelp(w io.Writer, flags *pflag.FlagSet, tail func(*pflag.Flag) string) {
	flags.VisitAll(func(fl *pflag.Flag) {
		if fl.Hidden || fl.Name == "help" {
			return
		}
		name := "--" + fl.Name
		if fl.Shorthand != "" {
			name = "-" + fl.Shorthand + ", " + name
		}
		if words := fl.Annotations[placeholder]; len(words) > 0 {
			name += " " + words[0]
		}
		text := fl.Usage
		if value := shownDefault(fl); value != "" {
			text += " (default " + value + ")"
		}
		fmt.Fprintf(w, "  %s\n%s\n", name, wrap(text+tail(fl), flagIndent))
	})
}

// shownDefault is a flag's default as a person writes it, "" if it says nothing.
func shownDefault(fl *pflag.Flag) string {
	switch value := fl.DefValue; {
	case value == "false" || value == "0" || value == "[]":
		return ""
	case fl.Value.Type() == "duration" && strings.HasSuffix(value, "m0s"):
		return strings.TrimSuffix(value, "0s")
	default:
		return value
	}
}

// helpOf prints the help of a command that has no flags of ours: cobra's own, and those that only have commands below them.
func helpOf(w io.Writer, c *cobra.Command) {
	fmt.Fprintf(w, "Usage: %s\n\n%s\n", c.UseLine(), wrap(c.Long, 0))
	if c.HasAvailableSubCommands() {
		fmt.Fprintln(w)
		listCommands(w, c.Commands())
		fmt.Fprintf(w, "\n`%s COMMAND -h` prints the help of a command.\n", c.CommandPath())
	}
	if flags := c.LocalFlags(); flags.HasAvailableFlags() {
		var list strings.Builder
		flagHelp(&list, flags, func(*pflag.Flag) string { return "" })
		if list.Len() > 0 {
			fmt.Fprintf(w, "\n%s", list.String())
		}
	}
}

// usage prints the help of mbusproxy itself.
func usage(w io.Writer, all []*cobra.Command) {
	fmt.Fprintf(w, "%s\n\nUsage: mbusproxy COMMAND [FLAGS]\n\n", wrap(about, 0))
	listCommands(w, all)
	fmt.Fprint(w, "\n`mbusproxy COMMAND -h` prints the help of a command.\n")
}

// listCommands prints commands, each in a line.
func listCommands(w io.Writer, all []*cobra.Command) {
	for _, c := range all {
		fmt.Fprintf(w, "  %-11s %s\n", c.Name(), c.Short)
	}
}

// wrap breaks paragraphs, between which there are empty lines, into lines of helpWidth that begin with indent blanks. A paragraph
// that begins with blanks is kept as it is.
func wrap(text string, indent int) string {
	margin := strings.Repeat(" ", indent)
	paragraphs := strings.Split(strings.Trim(text, "\n"), "\n\n")
	for i, paragraph := range paragraphs {
		if strings.HasPrefix(paragraph, " ") {
			continue
		}
		var b strings.Builder
		column := 0
		for _, word := range strings.Fields(paragraph) {
			length := utf8.RuneCountInString(word)
			switch {
			case column == 0:
				b.WriteString(margin)
				column = indent
			case column+1+length > helpWidth:
				b.WriteString("\n" + margin)
				column = indent
			default:
				b.WriteByte(' ')
				column++
			}
			b.WriteString(word)
			column += length
		}
		paragraphs[i] = b.String()
	}
	return strings.Join(paragraphs, "\n\n")
}
