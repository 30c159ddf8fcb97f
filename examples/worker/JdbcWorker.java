import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Savepoint;
import java.util.Map;

/**
 * A worker with JDBC: does its work in the transaction that consumes the message. Ends on SIGTERM.
 *
 * <pre>java -cp /usr/share/java/postgresql.jar JdbcWorker.java 'jdbc:postgresql://127.0.0.1:6432/app?user=app'</pre>
 */
public final class JdbcWorker {
    private static final String QUERY_CANCELED = "57014";
    private static volatile boolean stopping;

    public static void main(String[] args) throws Exception {
        try (Connection connection = DriverManager.getConnection(args[0])) {
            connection.setAutoCommit(false);
            try (PreparedStatement next = connection.prepareStatement(
                    "select m.data, m as whole from mbus4.consume('orders', wait => '30s') m")) {
                endOnSignal(Thread.currentThread(), next);
                while (!stopping) {
                    step(connection, next);
                }
            }
        }
    }

    /** Has SIGTERM end the wait, and lets what was begun be finished: cancel does nothing while the statement does not run. */
    private static void endOnSignal(Thread worker, PreparedStatement next) {
        Runtime.getRuntime().addShutdownHook(new Thread(() -> {
            stopping = true;
            try {
                while (worker.isAlive()) {
                    next.cancel();
                    worker.join(500);
                }
                Runtime.getRuntime().halt(0);
            } catch (SQLException | InterruptedException e) {
                System.err.println(e);
            }
        }));
    }

    private static void step(Connection connection, PreparedStatement next) throws SQLException {
        try (ResultSet message = next.executeQuery()) {
            if (message.next()) { // else nothing came: wait again
                settle(connection, message);
            }
        } catch (SQLException e) {
            if (!QUERY_CANCELED.equals(e.getSQLState())) {
                throw e;
            }
            connection.rollback();
            return;
        }
        connection.commit();
    }

    /** Works behind a savepoint, and sends the message back where that fails. */
    private static void settle(Connection connection, ResultSet message) throws SQLException {
        Savepoint before = connection.setSavepoint();
        try {
            work(connection, message);
        } catch (SQLException e) {
            connection.rollback(before);
            try (PreparedStatement retry = connection.prepareStatement("select mbus4.retry(?::mbus4.qt_model, ?)")) {
                retry.setString(1, message.getString("whole"));
                retry.setString(2, e.getMessage());
                retry.executeQuery().close(); // comes again later, as the consumer's policy says
            }
        }
    }

    /** What the worker is for, in the message's own transaction: it happens exactly once. */
    private static void work(Connection connection, ResultSet message) throws SQLException {
        Map<?, ?> data = (Map<?, ?>) message.getObject("data"); // the driver knows hstore
        try (PreparedStatement insert = connection.prepareStatement("insert into done (worker, n) values ('jdbc', ?)")) {
            insert.setInt(1, Integer.parseInt((String) data.get("n")));
            insert.executeUpdate();
        }
    }
}
