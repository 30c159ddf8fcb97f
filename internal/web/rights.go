package web

import (
	"context"
	"fmt"

	"github.com/jackc/pgx/v5"
)

// Rights are what a log-in may do, as the server says at the time of the request.
type Rights struct {
	Installed  bool
	See        bool // mbus4.queues and consumers
	Messages   bool // look into queues
	Pause      bool // pause_queue, resume_queue
	Work       bool // the work queue
	Semaphores bool
	Activity   bool // what others' sessions do
	Process    bool // the proxy itself
}

// rightsSQL asks for Rights in their order, those of ownSQL aside.
const rightsSQL = `select pg_catalog.to_regclass('mbus4.queue') is not null,
	coalesce(pg_catalog.has_table_privilege(pg_catalog.to_regclass('mbus4.queues'), 'select')
		and pg_catalog.has_function_privilege(pg_catalog.to_regprocedure('mbus4.states_of_consumers()'), 'execute'), false),
	coalesce(pg_catalog.has_table_privilege(pg_catalog.to_regclass('mbus4.message'), 'select')
		and pg_catalog.has_function_privilege(pg_catalog.to_regprocedure('mbus4.messages_of(text,text,text,integer)'), 'execute'), false),
	coalesce(pg_catalog.has_table_privilege(pg_catalog.to_regclass('mbus4.queue'), 'update') and pg_catalog.has_table_privilege(pg_catalog.to_regclass('mbus4.consumer'), 'update')
		and pg_catalog.has_table_privilege(pg_catalog.to_regclass('mbus4.consumer'), 'insert'), false),
	coalesce(pg_catalog.has_table_privilege(pg_catalog.to_regclass('mbus4.work_queue'), 'select'), false),
	coalesce(pg_catalog.has_table_privilege(pg_catalog.to_regclass('mbus4.semaphore'), 'select') and pg_catalog.has_table_privilege(pg_catalog.to_regclass('mbus4.semaphore_task'), 'select'), false)`

// ownSQL asks what a role may do that has nothing to do with queues; $1 is the console's role.
const ownSQL = `select coalesce((select pg_catalog.has_schema_privilege(n.oid, 'usage') from pg_catalog.pg_namespace n where n.nspname operator(pg_catalog.=) 'mbus4'), false),
	pg_catalog.pg_has_role('pg_read_all_stats', 'usage'),
	coalesce((select pg_catalog.pg_has_role(r.oid, 'member') from pg_catalog.pg_roles r where r.rolname operator(pg_catalog.=) $1), false)`

// rights asks what the role of a transaction may do.
func (p *Page) rights(ctx context.Context, tx pgx.Tx) (*Rights, error) {
	m, there, err := p.askOwn(ctx, tx)
	if err != nil || !there {
		return m, err // without the right to the schema the server refuses to look for names in it
	}
	if err := tx.QueryRow(ctx, rightsSQL).Scan(&m.Installed, &m.See, &m.Messages, &m.Pause, &m.Work, &m.Semaphores); err != nil {
		return nil, fmt.Errorf("asking for the role's rights: %w", err)
	}
	return m, nil
}

// ownRights asks what the role may do that has nothing to do with queues.
func (p *Page) ownRights(ctx context.Context, tx pgx.Tx) (*Rights, error) {
	m, _, err := p.askOwn(ctx, tx)
	return m, err
}

// askOwn also says whether the role may use the schema.
func (p *Page) askOwn(ctx context.Context, tx pgx.Tx) (m *Rights, there bool, err error) {
	m = &Rights{}
	if err := tx.QueryRow(ctx, ownSQL, p.cfg.ConsoleRole).Scan(&there, &m.Activity, &m.Process); err != nil {
		return nil, false, fmt.Errorf("asking for the role's rights: %w", err)
	}
	return m, there, nil
}

// maySee reports whether the role of a transaction may see the queues.
func (p *Page) maySee(ctx context.Context, tx pgx.Tx) (bool, error) {
	m, err := p.rights(ctx, tx)
	return err == nil && m.See, err
}
