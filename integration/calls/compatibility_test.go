package calls

import (
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"mbusproxy/integration/internal/forms"
	"mbusproxy/integration/internal/harness"
)

// step is one statement of an application written for the PL/pgSQL bus, and what it gets. The answers of that bus were
// taken from it, on the same server and with the same statements.
type step struct {
	sql      string
	want     string // its rows, or "error " and the SQLSTATE
	original string // what the PL/pgSQL bus gave
	await    bool   // the statement has one boolean, which becomes true sooner or later
}

// alike is a step that both answer the same.
func alike(want, sql string) step { return step{sql: sql, want: want, original: want} }

// unlike is a step with a difference of which docs/compatibility.md tells.
func unlike(want, original, sql string) step { return step{sql: sql, want: want, original: original} }

// eventually is a step whose effect comes from the background.
func eventually(sql string) step { return step{sql: sql, want: "t", original: "t", await: true} }

// scenario is a run of steps on queues of its own. What it leaves in dmq it takes away.
type scenario struct {
	about string
	steps []step
}

// runScenarios runs scenarios one after another in one database, in the simple protocol and with prepared statements.
func runScenarios(t *testing.T, scenarios []scenario) {
	t.Helper()
	t.Parallel()
	inBothProtocols(t, nil, func(t *testing.T, s *forms.Session) {
		for _, one := range scenarios {
			t.Run(one.about, func(t *testing.T) {
				for _, step := range one.steps {
					step.run(t, s)
				}
			})
		}
	})
}

func (one step) run(t *testing.T, s *forms.Session) {
	t.Helper()
	code, refused := strings.CutPrefix(one.want, "error ")
	switch {
	case one.await:
		harness.Await(t, s.Conn, one.sql)
	case refused:
		s.Refused(t, code, one.sql)
	default:
		s.Want(t, one.want, one.sql)
	}
}

const compatibilityPath = "../../docs/compatibility.md"

// originalObjects are the public objects of the PL/pgSQL bus. <q> and <c> stand for a queue and a consumer.
var originalObjects = strings.Fields(`
	qt_model qt$<q> dmq tempq queue consumer trigger seq qt_model_id_seq queue_id_seq consumer_id_seq
	create_queue drop_queue create_consumer drop_consumer create_trigger drop_trigger create_temporary_queue create_temporary_consumer
	clear_tempq create_run_function create_view post post_dmq post_temp consume consume_dmq consume_temp dyn_consume peek take
	is_msg_exists generate_new_msgiid readme regenerate_functions raise_exception string_format run_trigger
	post_<q> peek_<q> clear_queue_<q> run_on_<q> build_<q>_record_consumer_list
	consume_<q>_by_<c> consumen_<q>_by_<c> take_from_<q>_by_<c> trigger_<s>_to_<d>
	enqueue_time source_db destination_queue destination seenby consume_after Redeploy dmq.added dmq.error`)

// Every public object of the PL/pgSQL bus has its place on the page, and every row of its tables a test that is there.
func TestCompatibilityPage(t *testing.T) {
	t.Parallel()
	b, err := os.ReadFile(compatibilityPath)
	if err != nil {
		t.Fatal(err)
	}
	tests := repositoryTests(t)
	rows, firsts := 0, ""
	for line := range strings.Lines(string(b)) {
		cells := strings.Split(strings.Trim(line, "| \n"), " | ")
		if !strings.HasPrefix(line, "| ") || cells[len(cells)-1] == "test" {
			continue
		}
		rows++
		firsts += cells[0]
		names := testName.FindAllString(cells[len(cells)-1], -1)
		if len(names) == 0 {
			t.Errorf("%s: no test", cells[0])
		}
		for _, name := range names {
			if !slices.Contains(tests, name) {
				t.Errorf("%s: there is no %s", cells[0], name)
			}
		}
	}
	for _, name := range originalObjects {
		if !regexp.MustCompile("`" + regexp.QuoteMeta(name) + "[`(]").MatchString(firsts) {
			t.Errorf("no row is about %s", name)
		}
	}
	if rows < 30 {
		t.Errorf("%d rows", rows)
	}
}
