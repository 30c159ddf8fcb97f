import java.sql.CallableStatement;
import java.sql.Connection;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.ResultSetMetaData;
import java.sql.SQLException;
import java.sql.Savepoint;
import java.sql.Statement;
import java.sql.Timestamp;
import java.sql.Types;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;

/** A queue's life as JDBC sees it; the lines are those of every other client. */
final class Queue {
    private static final String[] COLUMNS = {"id", "added", "iid", "delayed_until", "expires", "received", "headers",
        "properties", "data"};

    private final Client client;
    private Connection conn;

    Queue(Client client) {
        this.client = client;
    }

    void run() throws Exception {
        try (Connection c = client.connect("prepareThreshold", "1", "binaryTransfer", "true")) {
            conn = c;
            try (Statement s = conn.createStatement()) {
                s.execute("select mbus4.create_queue('orders', 4)");
            }
            say("created");
            post();
            consume();
            ends();
            batch();
            savepoint();
            fetchSize();
        }
    }

    private void post() throws Exception {
        Timestamp hour = new Timestamp(System.currentTimeMillis() / 1000 * 1000 + 3600_000);
        try (PreparedStatement s = conn.prepareStatement("select mbus4.post(?, ?::hstore, ?::hstore, ?::hstore, ?, ?, ?)")) {
            s.setString(1, "orders");
            s.setString(2, "sku=>A1");
            s.setObject(3, Map.of("trace", "t1"), Types.OTHER);
            s.setString(4, "kind=>new");
            s.setNull(5, Types.TIMESTAMP);
            s.setTimestamp(6, hour);
            s.setString(7, "first");
            say("posted " + text(s));
        }
        String postOrders = "select mbus4.post_orders(?, delayed_until => ?, iid => ?)";
        try (PreparedStatement s = conn.prepareStatement(postOrders)) {
            s.setObject(1, "sku=>B2", Types.OTHER);
            s.setTimestamp(2, hour);
            s.setString(3, "later");
            say("posted " + text(s));
            String generated = text("select mbus4.generate_new_msgiid('orders')");
            check(generated.matches("orders\\." + client.database() + "\\.\\d+"), generated);
            s.setObject(1, "sku=>C3", Types.OTHER);
            s.setNull(2, Types.TIMESTAMP);
            s.setString(3, generated);
            check(text(s).equals(generated), "the iid given is not the iid returned");
            say("generated ok");
        }
    }

    private void consume() throws Exception {
        String sql = "select m.*, data->'sku', properties->'kind', headers->'trace' from mbus4.consume(?) m";
        conn.setAutoCommit(false);
        try (PreparedStatement s = conn.prepareStatement(sql)) {
            s.setString(1, "orders");
            say("consumed " + message(s));
            conn.rollback();
            say("rolled back");
            say("consumed " + message(s));
            conn.commit();
            say("committed");
            check(text("select (mbus4.consume('orders')).iid").startsWith("orders."), "the generated iid");
            conn.commit();
            say("consumed generated");
            try (ResultSet r = s.executeQuery()) {
                say(r.next() ? "not empty" : "empty");
            }
            conn.commit();
        }
        conn.setAutoCommit(true);
    }

    /** The message that a prepared consume returns, its shape checked on the way. */
    private static String message(PreparedStatement s) throws SQLException {
        try (ResultSet r = s.executeQuery()) {
            ResultSetMetaData columns = r.getMetaData();
            for (int i = 0; i < COLUMNS.length; i++) {
                check(columns.getColumnName(i + 1).equals(COLUMNS[i]), columns.getColumnName(i + 1));
            }
            check(r.next(), "no message");
            check(r.getLong("id") > 0 && r.getTimestamp("added") != null, "id and added");
            check(r.getTimestamp("expires").getTime() > System.currentTimeMillis(), "expires");
            @SuppressWarnings("unchecked")
            Map<String, String> data = (Map<String, String>) r.getObject("data");
            check(data.get("sku").equals(r.getString(10)), "data");
            String line = r.getString("iid") + " " + r.getString(10) + " " + r.getString(11) + " " + r.getString(12);
            check(!r.next(), "more than one message");
            return line;
        }
    }

    private void ends() throws Exception {
        try (PreparedStatement s = conn.prepareStatement("select mbus4.is_msg_exists(?)")) {
            s.setString(1, "later");
            try (ResultSet r = s.executeQuery()) {
                r.next();
                say("exists " + r.getBoolean(1));
            }
        }
        say("took " + text("select iid from mbus4.take('later')"));
        say("error " + state("{? = call mbus4.post(?, ?)}", "nowhere", "a=>1"));
        try (CallableStatement s = conn.prepareCall("{? = call mbus4.post(?, ?, iid => ?)}")) {
            s.registerOutParameter(1, Types.VARCHAR);
            s.setString(2, "orders");
            s.setObject(3, "a=>1", Types.OTHER);
            s.setString(4, "dup");
            s.execute();
            say("posted " + s.getString(1));
        }
        say("error " + state("{? = call mbus4.post(?, ?, iid => ?)}", "orders", "a=>1", "dup"));
        say("left " + text("select iid from mbus4.consumen('orders', 'default', 100)"));
    }

    /** The SQLSTATE that a call ends with. */
    private String state(String call, String... values) {
        try (CallableStatement s = conn.prepareCall(call)) {
            s.registerOutParameter(1, Types.VARCHAR);
            for (int i = 0; i < values.length; i++) {
                s.setObject(i + 2, values[i], Types.OTHER);
            }
            s.execute();
            return "none";
        } catch (SQLException e) {
            return e.getSQLState();
        }
    }

    private void batch() throws Exception {
        conn.setAutoCommit(false);
        try (Statement s = conn.createStatement()) {
            s.execute("create table posted (iid text)");
        }
        String sql = "insert into posted select mbus4.post('orders', hstore('n', ?), iid => ?)";
        try (PreparedStatement s = conn.prepareStatement(sql)) {
            for (int i = 0; i < 100; i++) {
                s.setString(1, "" + i);
                s.setString(2, "batch " + i);
                s.addBatch();
            }
            for (int count : s.executeBatch()) {
                check(count == 1, "update count " + count);
            }
        }
        conn.commit();
        check(text("select count(*) from posted").equals("100"), "posted");
    }

    private void savepoint() throws Exception {
        Savepoint before = conn.setSavepoint();
        check(text("select count(*) from mbus4.consumen('orders', 'default', 60)").equals("60"), "60 of 100");
        conn.rollback(before);
        check(text("select count(*) from mbus4.consumen('orders', 'default', 20)").equals("20"), "20 of 100");
        conn.commit();
    }

    /** Row limits: the portal is suspended and resumed, and the messages come once. */
    private void fetchSize() throws Exception {
        try (PreparedStatement s = conn.prepareStatement("select iid from mbus4.consumen('orders', 'default', 50)")) {
            for (String ending : new String[] {"rollback", "commit"}) {
                s.setFetchSize(7);
                List<String> got = new ArrayList<>();
                try (ResultSet r = s.executeQuery()) {
                    while (r.next()) {
                        got.add(r.getString(1));
                    }
                }
                check(got.size() == 50 && got.get(0).equals("batch 20") && got.get(49).equals("batch 69"), got.toString());
                if (ending.equals("commit")) {
                    conn.commit();
                } else {
                    conn.rollback();
                }
            }
        }
        check(text("select count(*) from mbus4.consumen('orders', 'default', 100)").equals("30"), "30 left");
        conn.commit();
    }

    private String text(String sql) throws SQLException {
        try (PreparedStatement s = conn.prepareStatement(sql)) {
            return text(s);
        }
    }

    private static String text(PreparedStatement s) throws SQLException {
        try (ResultSet r = s.executeQuery()) {
            r.next();
            return r.getString(1);
        }
    }

    private static void say(String line) {
        System.out.println(line);
    }

    private static void check(boolean holds, String what) {
        if (!holds) {
            throw new AssertionError(what);
        }
    }
}
