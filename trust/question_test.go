package trust_test

import (
	"strings"
	"testing"

	"mbusproxy/trust"
)

// The answer of a transaction that could change something is none for who looks, whoever the schema belongs to; and where
// there is no schema nobody goes on.
func TestWhatIsRefused(t *testing.T) {
	for _, c := range []struct {
		readOnly, absent, what string
		reads                  bool
		code                   string
	}{
		{readOnly: "on", reads: true, code: ""},
		{readOnly: "off", reads: false, code: ""},
		{readOnly: "off", reads: true, code: "25006"},
		{readOnly: "off", absent: "absent", reads: false, code: "3F000"},
		{readOnly: "on", absent: "absent", what: "schema mbus4_views", reads: true, code: "42501"},
		{readOnly: "off", what: "schema mbus4", reads: false, code: "42501"},
	} {
		code := ""
		if refused := trust.Read([7]string{"me", "db", c.readOnly, c.absent, c.what, "other"}).Check(c.reads); refused != nil {
			code = refused.Code
		}
		if code != c.code {
			t.Errorf("%+v: %q", c, code)
		}
	}
}

// The engine is asked for no admin role, and refuses for no right that it revokes itself.
func TestEnginesQuestion(t *testing.T) {
	engines, persons := trust.ForEngine(), trust.ForPerson(`a'\b`)
	for _, part := range []string{"aclexplode", "mbus4_admin", "-- for persons"} {
		if strings.Contains(engines, part) || !strings.Contains(persons, part) {
			t.Errorf("%s: the engine's question\n%s", part, engines)
		}
	}
	if strings.Contains(persons, "‹admin›") || strings.Contains(persons, `'a'\b'`) {
		t.Errorf("the admin role stands in the question as it is:\n%s", persons)
	}
}

// The question is understood in a database of any encoding, LATIN1 for example, so it has no character but ASCII's.
func TestQuestionIsASCII(t *testing.T) {
	for _, question := range []string{trust.ForEngine(), trust.ForPerson("mbus4_admin")} {
		if at := strings.IndexFunc(question, func(r rune) bool { return r > 127 }); at >= 0 {
			t.Errorf("%.20q", question[at:])
		}
	}
}
