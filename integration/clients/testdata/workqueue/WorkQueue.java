import java.sql.CallableStatement;
import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Types;

/** usage: WorkQueue HOST PORT DATABASE [PROPERTY=VALUE…]; prints what workqueue_test.go compares. */
public final class WorkQueue {
    private static final String HANDLER = "insert into done(n) values (($1->>'n')::int)";

    private final Connection conn;

    private WorkQueue(Connection conn) {
        this.conn = conn;
    }

    public static void main(String[] args) throws Exception {
        String url = "jdbc:postgresql://" + args[0] + ":" + args[1] + "/" + args[2]
            + "?user=postgres&escapeSyntaxCallMode=call";
        for (int i = 3; i < args.length; i++) {
            url += "&" + args[i];
        }
        try (Connection conn = DriverManager.getConnection(url)) {
            new WorkQueue(conn).run();
        }
    }

    private void run() throws SQLException {
        row("select mbus4.add_message(?::jsonb)", "{\"n\": 1}");
        row("select id, payload->>'n' from mbus4.get_next_message(?)", 7);
        row("select mbus4.release_messages(?)", 7);
        try (PreparedStatement s = conn.prepareStatement("call mbus4.process_queue(?, ?)")) {
            call(s, HANDLER);
        }
        try (CallableStatement s = conn.prepareCall("{call mbus4.process_queue(?, ?)}")) {
            for (int i = 0; i < 10; i++) { // from the fifth on the driver uses a named statement
                s.setInt(1, 7);
                s.setString(2, HANDLER);
                s.execute();
            }
            call(s, HANDLER);
        }
        row("select n, (select count(*) from mbus4.work_queue) from done");
        conn.setAutoCommit(false);
        try (PreparedStatement s = conn.prepareStatement("call mbus4.process_queue(?, ?)")) {
            call(s, HANDLER);
        } catch (SQLException e) {
            System.out.println("error " + e.getSQLState());
        }
        conn.rollback();
        conn.setAutoCommit(true);
        try (CallableStatement s = conn.prepareCall("{call mbus4.process_queue(?, ?)}")) {
            call(s, null);
        }
        row("select 'usable', count(*) from mbus4.work_queue");
    }

    private void call(PreparedStatement s, String handler) throws SQLException {
        s.setInt(1, 7);
        if (handler == null) {
            s.setNull(2, Types.VARCHAR);
        } else {
            s.setString(2, handler);
        }
        // The driver does not show the tag; from any but one without a number it would read a count.
        boolean rows = s.execute();
        System.out.println(rows || s.getUpdateCount() > 0 || s.getWarnings() != null ? "unexpected result" : "CALL");
    }

    private void row(String sql, Object... values) throws SQLException {
        try (PreparedStatement s = conn.prepareStatement(sql)) {
            for (int i = 0; i < values.length; i++) {
                s.setObject(i + 1, values[i]);
            }
            try (ResultSet r = s.executeQuery()) {
                r.next();
                StringBuilder line = new StringBuilder(r.getString(1));
                for (int i = 2; i <= r.getMetaData().getColumnCount(); i++) {
                    line.append(' ').append(r.getString(i));
                }
                System.out.println(line);
            }
        }
    }
}
