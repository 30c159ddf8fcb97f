package frontend

import (
	"github.com/jackc/pgx/v5/pgproto3"

	"mbusproxy/integration/internal/harness"
)

// Parse names a statement; types of parameters are left to the server.
func Parse(name, sql string) *pgproto3.Parse { return &pgproto3.Parse{Name: name, Query: sql} }

// Bind makes a portal of a statement, with text parameters; nil is null.
func Bind(portal, name string, args ...any) *pgproto3.Bind {
	return &pgproto3.Bind{DestinationPortal: portal, PreparedStatement: name, Parameters: harness.TextParams(args)}
}

// Execute runs a portal for so many rows at most, or all of them with 0.
func Execute(portal string, rows uint32) *pgproto3.Execute {
	return &pgproto3.Execute{Portal: portal, MaxRows: rows}
}

// DescribeStatement asks for parameters and columns.
func DescribeStatement(name string) *pgproto3.Describe {
	return &pgproto3.Describe{ObjectType: 'S', Name: name}
}

// DescribePortal asks for columns.
func DescribePortal(name string) *pgproto3.Describe {
	return &pgproto3.Describe{ObjectType: 'P', Name: name}
}

// Flush asks for what there is of replies.
func Flush() *pgproto3.Flush { return &pgproto3.Flush{} }

// Sync ends a sequence of the extended protocol.
func Sync() *pgproto3.Sync { return &pgproto3.Sync{} }
