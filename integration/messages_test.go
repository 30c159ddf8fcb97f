package integration

import "github.com/jackc/pgx/v5/pgproto3"

func parse(name, sql string) *pgproto3.Parse { return &pgproto3.Parse{Name: name, Query: sql} }

func bind(portal, name string, args ...any) *pgproto3.Bind {
	return &pgproto3.Bind{DestinationPortal: portal, PreparedStatement: name, Parameters: textParams(args)}
}

func execute(portal string, rows uint32) *pgproto3.Execute {
	return &pgproto3.Execute{Portal: portal, MaxRows: rows}
}

func describeStatement(name string) *pgproto3.Describe {
	return &pgproto3.Describe{ObjectType: 'S', Name: name}
}

func describePortal(name string) *pgproto3.Describe {
	return &pgproto3.Describe{ObjectType: 'P', Name: name}
}

var (
	flush = &pgproto3.Flush{}
	sync1 = &pgproto3.Sync{}
)
