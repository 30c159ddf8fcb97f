package sqlfuncs

import (
	"fmt"
	"strings"
	"testing"
)

func TestCutPlace(t *testing.T) {
	t.Parallel()
	text := "select 'a " + SecretPlace + " b', " + ArgPlace("qname") + ArgPlace("secret")
	var pieces []string
	for found := true; found; {
		var before, param string
		if before, param, text, found = CutPlace(text); found {
			pieces = append(pieces, fmt.Sprintf("%s<%s>", before, param))
		} else {
			pieces = append(pieces, before)
		}
	}
	if got := strings.Join(pieces, "|"); got != "select 'a <>| b', <qname>|<secret>|" {
		t.Errorf("got %s", got)
	}
}
