package delivery

import (
	"strings"
	"testing"

	"mbusproxy/integration/internal/forms"
	"mbusproxy/integration/internal/harness"
)

// Each statement posts one message to q; how it is written makes no difference.
func TestPostNotations(t *testing.T) {
	t.Parallel()
	cases := []forms.Step{
		forms.Do("select mbus4.post('q', 'a=>1')"),
		forms.Do("select mbus4.post($1, $2)", "q", "a=>1"),
		forms.Do("select mbus4.post($1::text, $2::hstore)", "q", "a=>1"),
		forms.Do("select mbus4.post($2, $1)", "a=>1", "q"),
		forms.Do("select mbus4.post(qname => $1, data => $2)", "q", "a=>1"),
		forms.Do("select mbus4.post(qname := $1, data := $2)", "q", "a=>1"),
		forms.Do("select mbus4.post(data := $1, qname => $2)", "a=>1", "q"),
		forms.Do("select mbus4.post('q', data => $1)", "a=>1"),
		forms.Do("select mbus4.post('q', $1, null, null, null, null, null)", "a=>1"),
		forms.Do("select mbus4.post('q', $1, $2, $3, $4, $5, $6)", "a=>1", nil, nil, nil, nil, nil),
		forms.Do("select mbus4.post('q', $1, iid => null)", "a=>1"),
		forms.Do("select mbus4.post('q', $1, msgiid => null)", "a=>1"),
		forms.Do("select mbus4.post('q', hstore($1, $2))", "a", "1"),
		forms.Do("select mbus4.post(lower('Q'), ('a=>' || $1)::hstore)", "1"),
		forms.Do("select mbus4.post('q', hstore(array['a', '1']) || ''::hstore)"),
		forms.Do("select mbus4.post('Q', $1)", "a=>1"),
		forms.Do("select mbus4.post($1, $2)", "Q", "a=>1"),
		forms.Do("select MBUS4.Post('q', $1)", "a=>1"),
		forms.Do(`select "mbus4"."post"('q', $1)`, "a=>1"),
		forms.Do("select mbus4 . post\n(\n'q' -- the queue\n, /* data */ $1)", "a=>1"),
		forms.Do("select mbus4.post(e'q', $$a=>1$$)"),
		forms.Do("select mbus4.post((select 'q'), $1)", "a=>1"),
		forms.Do("select mbus4.post_q('a=>1')"),
		forms.Do("select mbus4.post_q($1)", "a=>1"),
		forms.Do("select mbus4.POST_Q(data => $1)", "a=>1"),
		forms.Do("select mbus4.post_q($1, iid => null)", "a=>1"),
		forms.Do("select mbus4.post_q($1, msgiid := null)", "a=>1"),
		forms.Do("select mbus4.post_q($1, null, $2, null)", "a=>1", nil),
		forms.Do("select mbus4.post('q', 'a=>1') -- a comment with a ' quote"),
		forms.Do("/* one */ select /* two */ mbus4.post('q', 'a=>1') /* three */"),
		forms.Do("select mbus4.post(cast($1 as varchar), $2)", "q", "a=>1"),
	}
	forms.ForEach(t, []string{"q"}, func(t *testing.T, s *forms.Session) {
		for _, c := range cases {
			got, err := s.Form.Run(harness.Context(t), s.Conn, c)
			if err != nil {
				t.Errorf("%s: %s", c.SQL, harness.Describe(err))
				continue
			}
			if !strings.HasPrefix(got, "q."+s.Database+".") {
				t.Errorf("%s: iid %q", c.SQL, got)
			}
			s.Want(t, got+`|"a"=>"1"|∅|∅|∅`,
				"select iid, data, properties, nullif(delayed_until, added), expires from mbus4.consumen('q', amt => 9)")
		}
	})
}

// Every parameter of post is in force, by position and by name.
func TestPostParameters(t *testing.T) {
	t.Parallel()
	args := []any{"a=>1", "h=>2", "p=>3", "2001-02-03 04:05:06", "2999-01-01 00:00:00"}
	cases := []string{
		"select mbus4.post('q', $1, $2, $3, $4, $5, $6)",
		"select mbus4.post('q', $1, $2, $3, $4::timestamp, $5::timestamp, $6::text)",
		"select mbus4.post('q', iid => $6, expires => $5, delayed_until => $4, properties => $3, headers => $2, data => $1)",
		"select mbus4.post('q', $1, $2, $3, expires => $5, delayed_until => $4, msgiid => $6)",
		"select mbus4.post_q($1, $2, $3, $4, $5, $6)",
		"select mbus4.post_q(iid => $6, data => $1, headers => $2, properties => $3, delayed_until => $4, expires => $5)",
	}
	forms.ForEach(t, []string{"q"}, func(t *testing.T, s *forms.Session) {
		for _, sql := range cases {
			s.Want(t, "given", sql, append(args[:len(args):len(args)], "given")...)
			s.Want(t, `given|"a"=>"1"|2|"p"=>"3"|2001-02-03 04:05:06|2999-01-01 00:00:00|t`,
				`select iid, data, headers->'h', properties, delayed_until, expires, id > 0 from mbus4.consume('q')`)
		}
	})
}

// What post and consume write into the headers by themselves.
func TestHeaders(t *testing.T) {
	t.Parallel()
	forms.ForEach(t, []string{"q"}, func(t *testing.T, s *forms.Session) {
		s.Want(t, "a", "select mbus4.post('q', 'x=>1', iid => 'a')")
		s.Want(t, "t|"+s.Database+"|q|{"+s.Database+"}|q", `select
			(headers->'enqueue_time')::timestamptz between now() - interval '1 min' and now() + interval '1 min',
			headers->'source_db', headers->'destination_queue', headers->'seenby', headers->'destination'
			from mbus4.consume('q')`)
		s.Want(t, "b", "select mbus4.post('q', 'x=>1', $1, iid => 'b')",
			`enqueue_time=>mine, source_db=>elsewhere, destination_queue=>other, seenby=>"{db1,db2}", own=>1`)
		s.Want(t, "mine|elsewhere|other|{db1,db2,"+s.Database+"}|q|1", `select headers->'enqueue_time',
			headers->'source_db', headers->'destination_queue', headers->'seenby', headers->'destination', headers->'own'
			from mbus4.consume('q')`)
	})
}
