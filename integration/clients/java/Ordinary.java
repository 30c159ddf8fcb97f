import java.io.ByteArrayOutputStream;
import java.io.StringReader;
import java.sql.BatchUpdateException;
import java.sql.Connection;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.ResultSetMetaData;
import java.sql.SQLException;
import java.sql.SQLWarning;
import java.sql.Savepoint;
import java.sql.Statement;
import java.sql.Timestamp;
import java.util.Arrays;
import org.postgresql.PGConnection;
import org.postgresql.PGNotification;
import org.postgresql.copy.CopyManager;
import org.postgresql.util.PSQLException;
import org.postgresql.util.ServerErrorMessage;

/** Work without queues: its output is compared direct and through the proxy. */
final class Ordinary {
    private final Client client;
    private Connection conn;

    Ordinary(Client client) {
        this.client = client;
    }

    void run() throws Exception {
        String[][] styles = {
            {"prepareThreshold", "1", "binaryTransfer", "true"},
            {"prepareThreshold", "1", "binaryTransfer", "false"},
            {"prepareThreshold", "-1"}, // binary results from the first execution on
            {"preferQueryMode", "simple"},
            {"preferQueryMode", "extendedForPrepared"},
        };
        for (String[] style : styles) {
            say("style", Arrays.toString(style));
            try (Connection c = client.connect(style)) {
                conn = c;
                values();
                errors();
            }
        }
        try (Connection c = client.connect("prepareThreshold", "1")) {
            conn = c;
            batches();
            copies();
            large();
            cancel();
            listen();
        }
    }

    private void values() throws Exception {
        show("ddl", "drop table if exists item");
        show("ddl", "create table item (id int primary key, name text, tags text[], doc jsonb, at timestamptz, raw bytea, "
            + "price numeric, big bigint, ratio float8, id2 uuid)");
        String insert = "insert into item values (?, ?, ?, ?::jsonb, ?, ?, ?, ?, ?, ?::uuid) returning *";
        show("insert", insert, 1, "one é", conn.createArrayOf("text", new String[] {"a", null, "b,c"}), "{\"k\": [1, 2]}",
            Timestamp.valueOf("2026-01-02 03:04:05.678901"), new byte[] {0, -1, 39}, new java.math.BigDecimal("12.50"),
            1L << 40, 0.1, "a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11");
        show("nulls", insert, 2, null, null, null, null, null, null, null, null, null);
        for (int i = 0; i < 3; i++) {
            show("join", "select a.id, b.name from item a left join item b on a.id = b.id + ? order by 1", 1);
        }
    }

    private void errors() throws Exception {
        show("duplicate", "insert into item(id) values (?)", 1);
        show("syntax", "select 1 +");
        show("column", "select id,\n  nosuch from item where id = ?", 1);
        show("divide", "select 6 / ?", 0);
        show("several", "select 1; update item set name = 'two' where id = 2; select 'x'");
        conn.setAutoCommit(false);
        show("first", "update item set name = 'three' where id = ?", 2);
        Savepoint s = conn.setSavepoint("s");
        show("fails", "select 1/0");
        show("aborted", "select 1");
        conn.rollback(s);
        show("after savepoint", "select name from item where id = 2");
        conn.rollback();
        show("after rollback", "select name from item where id = 2");
        conn.commit();
        conn.setAutoCommit(true);
        show("notice", "do $$ begin raise warning 'seen'; end $$");
    }

    private void batches() throws Exception {
        try (PreparedStatement s = conn.prepareStatement("insert into item(id, name) values (?, ?)")) {
            for (int i = 100; i < 600; i++) {
                s.setInt(1, i);
                s.setString(2, "name " + i);
                s.addBatch();
            }
            say("batch", "" + Arrays.stream(s.executeBatch()).sum());
            s.setInt(1, 600);
            s.setString(2, "fine");
            s.addBatch();
            s.setInt(1, 100);
            s.setString(2, "twice");
            s.addBatch();
            s.executeBatch();
        } catch (BatchUpdateException e) {
            say("batch fails", e.getSQLState() + " " + Arrays.toString(e.getUpdateCounts()));
        }
        show("after batch", "select count(*) from item");
    }

    private void copies() throws Exception {
        CopyManager copy = conn.unwrap(PGConnection.class).getCopyAPI();
        StringBuilder in = new StringBuilder();
        for (int i = 1000; i < 6000; i++) {
            in.append(i).append('\t').append("name ").append(i).append('\n');
        }
        say("copied in", "" + copy.copyIn("copy item(id, name) from stdin", new StringReader(in.toString())));
        ByteArrayOutputStream out = new ByteArrayOutputStream();
        say("copied out", copy.copyOut("copy (select * from item order by id) to stdout csv", out) + " " + out.size()
            + " " + out.toString("UTF-8").hashCode());
        try {
            copy.copyIn("copy item(id) from stdin", new StringReader("x\n"));
        } catch (SQLException e) {
            say("copy fails", e.getSQLState());
        }
    }

    private void large() throws Exception {
        conn.setAutoCommit(false);
        try (PreparedStatement s = conn.prepareStatement("select n, repeat('x', 100) from generate_series(1, ?) n")) {
            s.setInt(1, 20000);
            s.setFetchSize(333);
            long sum = 0;
            try (ResultSet r = s.executeQuery()) {
                while (r.next()) {
                    sum += r.getInt(1) + r.getString(2).length();
                }
            }
            say("fetched", "" + sum);
        }
        conn.commit();
        conn.setAutoCommit(true);
    }

    private void cancel() throws Exception {
        int pid = conn.unwrap(PGConnection.class).getBackendPID();
        try (Statement slow = conn.createStatement(); Connection watcher = client.connect()) {
            Thread canceller = new Thread(() -> {
                try (PreparedStatement s = watcher.prepareStatement("select 1 from pg_stat_activity where pid = ? "
                        + "and state = 'active' and query like '%pg_sleep(60)%'")) {
                    s.setInt(1, pid);
                    for (int i = 0; i < 2000; i++) {
                        try (ResultSet r = s.executeQuery()) {
                            if (r.next()) {
                                slow.cancel();
                                return;
                            }
                        }
                    }
                } catch (SQLException e) {
                    say("canceller", e.toString());
                }
            });
            canceller.start();
            try {
                slow.execute("select pg_sleep(60)");
            } catch (SQLException e) {
                say("cancelled", e.getSQLState());
            }
            canceller.join();
        }
    }

    private void listen() throws Exception {
        show("listen", "listen news");
        try (Connection other = client.connect(); Statement s = other.createStatement()) {
            s.execute("notify news, 'hello'");
        }
        for (PGNotification n : conn.unwrap(PGConnection.class).getNotifications(20_000)) {
            say("heard", n.getName() + " " + n.getParameter());
        }
    }

    /** Runs a statement and prints everything about its outcome that a client can see. */
    private void show(String name, String sql, Object... values) {
        try (PreparedStatement s = conn.prepareStatement(sql)) {
            for (int i = 0; i < values.length; i++) {
                s.setObject(i + 1, values[i]);
            }
            boolean rows = s.execute();
            while (rows || s.getUpdateCount() >= 0) {
                say(name, rows ? table(s.getResultSet()) : "updated " + s.getUpdateCount());
                rows = s.getMoreResults();
            }
            for (SQLWarning w = s.getWarnings(); w != null; w = w.getNextWarning()) {
                say(name, "warning " + w.getSQLState() + " " + w.getMessage());
            }
        } catch (PSQLException e) {
            ServerErrorMessage m = e.getServerErrorMessage();
            say(name, m == null ? e.getMessage() : m.getSQLState() + " at " + m.getPosition() + " " + m.getMessage());
        } catch (SQLException e) {
            say(name, e.toString());
        }
    }

    private static String table(ResultSet r) throws SQLException {
        ResultSetMetaData columns = r.getMetaData();
        StringBuilder text = new StringBuilder();
        for (int i = 1; i <= columns.getColumnCount(); i++) {
            text.append(columns.getColumnName(i)).append(':').append(columns.getColumnTypeName(i)).append(' ');
        }
        while (r.next()) {
            text.append('[');
            for (int i = 1; i <= columns.getColumnCount(); i++) {
                Object value = r.getObject(i);
                text.append(value instanceof byte[] ? Arrays.toString((byte[]) value) : "" + value).append('|');
            }
            text.append(']');
        }
        return text.toString();
    }

    private static void say(String name, String line) {
        System.out.println(name + ": " + line);
    }
}
