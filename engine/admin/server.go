package admin

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"mbusproxy/engine/refusal"
)

const connectTimeout = 10 * time.Second // where the DSN sets none

// Server is the server as the DSN of the admin role names it. It is immutable and safe for concurrent use.
type Server struct {
	config *pgx.ConnConfig // copied for each connection
}

// Database is the name of the DSN's own database.
func (s *Server) Database() string { return s.config.Database }

// Connect opens a session in a database. Failures are of type *refusal.Error.
func (s *Server) Connect(ctx context.Context, database string) (*pgx.Conn, error) {
	cfg := s.config.Copy()
	cfg.Database = database
	return connect(ctx, cfg)
}

// ConnectRaw opens a session in the DSN's own database in which names and texts are bytes of no
// encoding, as those of startup packets are. Failures are of type *refusal.Error.
func (s *Server) ConnectRaw(ctx context.Context) (*pgx.Conn, error) {
	cfg := s.config.Copy()
	cfg.RuntimeParams["client_encoding"] = "SQL_ASCII"
	return connect(ctx, cfg)
}

func connect(ctx context.Context, cfg *pgx.ConnConfig) (*pgx.Conn, error) {
	conn, err := pgx.ConnectConfig(ctx, cfg)
	if err != nil {
		return nil, connectError(cfg.Database, err)
	}
	return conn, nil
}

// pinned gives the settings that every session of the engine has from its first statement on. ALTER
// ROLE and ALTER DATABASE, which the owner of a database may run, cannot change them: names mean
// what they mean in pg_catalog, a literal is read as it was written, and nobody ends or hinders the engine's work.
func pinned() map[string]string {
	return map[string]string{
		"search_path":                   "pg_catalog, pg_temp",
		"standard_conforming_strings":   "on",
		"default_transaction_isolation": "read committed",
		"lock_timeout":                  "10s", // so long may a lock of somebody else's hold up the opening of a database

		"default_transaction_read_only":       "off",
		"idle_in_transaction_session_timeout": "0",
		"idle_session_timeout":                "0",
		"jit":                                 "off", // compiling takes longer than nearly all that the engine does
		"local_preload_libraries":             "",
		"statement_timeout":                   "0",
	}
}

// beYourself has a session go on as the role that has logged in, before anything else: the owner of
// a database may have chosen another one for all sessions in it (ALTER DATABASE … SET role), would
// own what the engine makes there, and be taken for the engine. It is no parameter of the startup,
// of which poolers know few. Nor is transaction_timeout, which the servers before 17 refuse.
func beYourself(ctx context.Context, conn *pgconn.PgConn) error {
	sql := "set role none"
	if version := conn.ParameterStatus("server_version"); majorOf(version) >= 17 {
		sql = "set transaction_timeout = 0; " + sql
	}
	if _, err := conn.Exec(ctx, sql).ReadAll(); err != nil {
		return fmt.Errorf("taking no other role: %w", err)
	}
	return nil
}

// majorOf is the number of a server's major version, as in "18.4 (Debian 18.4-1)", "18beta1" and "17devel"; 0: it does not say.
func majorOf(version string) int {
	digits := strings.IndexFunc(version, func(r rune) bool { return r < '0' || r > '9' })
	if digits < 0 {
		digits = len(version)
	}
	major, _ := strconv.Atoi(version[:digits])
	return major
}

// Parse reads the DSN of the admin role. It opens no connection. A refusal is a *refusal.Error.
func Parse(dsn string) (*Server, error) {
	cfg, err := pgx.ParseConfig(dsn) // its errors hide the password
	if err != nil {
		return nil, &refusal.Error{
			Code:    "22023", // invalid_parameter_value
			Message: "the DSN of the admin connection cannot be read",
			Hint:    "For example: host=/var/run/postgresql user=postgres dbname=postgres",
			Err:     err,
		}
	}
	if cfg.ConnectTimeout == 0 {
		cfg.ConnectTimeout = connectTimeout
	}
	cfg.RuntimeParams["client_encoding"] = "UTF8" // what is sent is, and the server's default is the database's encoding
	maps.Copy(cfg.RuntimeParams, pinned())
	cfg.AfterConnect = beYourself
	// Without a handler pgx keeps all notifications, and any role may send them.
	cfg.OnNotification = func(c *pgconn.PgConn, n *pgconn.Notification) {
		if n.PID != c.PID() {
			payloads, _ := c.CustomData()[told].([]string)
			c.CustomData()[told] = keep(payloads, n.Payload)
		}
	}
	if cfg.RuntimeParams["application_name"] == "" {
		cfg.RuntimeParams["application_name"] = "mbusproxy"
	}
	return &Server{config: cfg}, nil
}

// Close closes a session properly, with a Terminate message, even when ctx has ended. Errors are
// dropped: nobody could use them.
func Close(ctx context.Context, conn *pgx.Conn) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Second)
	defer cancel()
	_ = conn.Close(ctx)
}

// connectError explains why there is no connection of the engine's own to a database.
func connectError(database string, err error) *refusal.Error {
	switch code := refusal.SQLState(err); code {
	case "":
		return &refusal.Error{
			Code:    "08001", // sqlclient_unable_to_establish_sqlconnection
			Message: fmt.Sprintf("mbusproxy cannot reach database %q with its admin connection", database),
			Hint:    "Check that the server runs and that host, port and sslmode of --admin are right.",
			Err:     err,
		}
	case refusal.InvalidCatalog:
		return &refusal.Error{Code: code, Message: fmt.Sprintf("database %q does not exist", database), Err: err}
	case "28000", "28P01": // invalid_authorization_specification, invalid_password
		return &refusal.Error{
			Code:    code,
			Message: fmt.Sprintf("the server refuses mbusproxy's admin role in database %q", database),
			Hint:    "Check user and password of --admin, and that pg_hba.conf admits this role to the database.",
			Err:     err,
		}
	default:
		return &refusal.Error{
			Code:    code,
			Message: fmt.Sprintf("mbusproxy cannot use database %q with its admin connection", database),
			Err:     err,
		}
	}
}

const told = "told"

// What is kept of notifications: so many payloads, and none that is longer than those of the proxy's.
const (
	mostTold      = 64
	mostToldBytes = 32
)

// keep adds a payload to those kept. One that is not kept itself is kept as an empty one, which stands
// for anything.
func keep(payloads []string, payload string) []string {
	if len(payload) > mostToldBytes {
		payload = ""
	}
	switch {
	case slices.Contains(payloads, payload):
		return payloads
	case len(payloads) < mostTold:
		return append(payloads, payload)
	}
	payloads[0] = ""
	return payloads
}

// Told returns the payloads of what other sessions have notified one of ours since Told was called
// last for it; one that is empty stands for anything. It belongs to whoever uses conn.
func Told(conn *pgx.Conn) (payloads []string) {
	data := conn.PgConn().CustomData()
	payloads, _ = data[told].([]string)
	delete(data, told)
	return payloads
}
