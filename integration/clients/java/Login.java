import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.util.Properties;

/** usage: Login HOST PORT USER PASSWORD. Logs in over TLS and prints who it is, or the SQLSTATE of the refusal. */
public final class Login {
    public static void main(String[] args) throws Exception {
        Properties properties = new Properties();
        properties.setProperty("user", args[2]);
        properties.setProperty("password", args[3]);
        properties.setProperty("sslmode", "require");
        String url = "jdbc:postgresql://" + args[0] + ":" + args[1] + "/postgres";
        try (Connection c = DriverManager.getConnection(url, properties);
                ResultSet r = c.createStatement().executeQuery("select current_user")) {
            r.next();
            System.out.println(r.getString(1));
        } catch (SQLException e) {
            System.out.println(e.getSQLState());
        }
    }
}
