package detect

import (
	"strings"
	"testing"
)

func TestNewUnqualified(t *testing.T) {
	t.Parallel()
	for _, list := range [][]string{{"nosuch"}, {"*"}, {"post", "mbus4.post"}, {"post("}, {""}, {"consume_q"}, {"at_post"}, {"pos*"}} {
		if _, err := NewUnqualified(list); err == nil {
			t.Errorf("%q is taken", list)
		}
	}
	if u, err := NewUnqualified(nil); u != nil || err != nil {
		t.Errorf("nothing gives %v, %v", u, err)
	}
	for list, names := range map[string]string{
		"all":                               "post post_q consume consume_a_by_b run_q peek_x process_queue",
		"post,POST_orders":                  "post post_orders !post_other !consume",
		"post_*":                            "post_q post_temp !post !post_",
		"consume_*":                         "consume_a_by_b !consume_a !consumen_a_by_b",
		"consume_*_by_me,run_on_*":          "consume_a_by_me !consume_a_by_you run_on_q !run_q",
		"take_from_orders_by_*,semaphore_*": "take_from_orders_by_x !take_from_x_by_x",
	} {
		u, err := NewUnqualified(strings.Split(list, ","))
		if list == "take_from_orders_by_*,semaphore_*" {
			if err == nil {
				t.Errorf("%s is taken", list)
			}
			continue
		}
		if err != nil {
			t.Errorf("%s: %v", list, err)
			continue
		}
		for _, name := range strings.Fields(names) {
			name, not := strings.CutPrefix(name, "!")
			if _, ok := u.Lookup(name); ok == not {
				t.Errorf("%s: %s is served: %t", list, name, ok)
			}
		}
	}
}
