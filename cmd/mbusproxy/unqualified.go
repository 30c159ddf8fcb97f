package main

import "mbusproxy/internal/app"

const unqualifiedUsage = "`NAMES` of functions that are served without the schema, too, where it is in the search_path: all, or names in which\n" +
	"      * stands for a queue or consumer, as in post,post_*,consume_*_by_*; may be repeated"

// checkUnqualified refuses names that are none of the catalogue's.
func (f *flagSet) checkUnqualified(cfg *app.Config) error {
	if err := app.CheckUnqualified(cfg.Unqualified); err != nil {
		return f.misuse("--unqualified: " + err.Error())
	}
	return nil
}
