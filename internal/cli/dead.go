package cli

import (
	"context"

	"github.com/jackc/pgx/v5"
)

// DeadList writes what lies in dmq, the oldest first, limit at most; queue, if not empty, is where it must have come from.
func (s *Session) DeadList(ctx context.Context, queue string, limit int, out Out) error {
	hstore, err := s.hstoreSchema(ctx)
	if err != nil {
		return err
	}
	key := func(name string) string {
		return "headers operator(" + hstore + ".->) '" + name + "'"
	}
	sql := "select iid, " + key("destination") + " as queue, " + key("dmq.consumer") + " as consumer, added, " + key("retry.attempt") + " as attempt, " +
		key("dmq.error") + " as error, headers, properties, data from mbus4.dmq"
	params := []any{limit}
	if queue != "" {
		sql += " where " + key("destination") + " operator(pg_catalog.=) pg_catalog.lower($2)"
		params = append(params, queue)
	}
	r, err := s.query(ctx, sql+" order by id limit $1::pg_catalog.int8", params...)
	if err != nil {
		return err
	}
	if out.Format == Table { // the headers are in columns of their own
		r = r.without("headers")
	}
	return out.write(r)
}

// hstoreSchema is the schema of the extension, quoted.
func (s *Session) hstoreSchema(ctx context.Context) (string, error) {
	r, err := s.query(ctx, `select n.nspname from pg_catalog.pg_extension e, pg_catalog.pg_namespace n
where e.extname operator(pg_catalog.=) 'hstore' and n.oid operator(pg_catalog.=) e.extnamespace`)
	if err != nil {
		return "", err
	}
	if len(r.Rows) == 0 || r.Rows[0][0] == nil {
		return "", &Error{Message: "this database has no extension hstore, so it has no queues", Hint: throughTheProxy}
	}
	return pgx.Identifier{*r.Rows[0][0]}.Sanitize(), nil
}

// without leaves a column out.
func (r *Result) without(name string) *Result {
	short := &Result{}
	for i, c := range r.Columns {
		if c.Name == name {
			continue
		}
		short.Columns = append(short.Columns, c)
		for n, row := range r.Rows {
			if len(short.Rows) <= n {
				short.Rows = append(short.Rows, nil)
			}
			short.Rows[n] = append(short.Rows[n], row[i])
		}
	}
	return short
}
