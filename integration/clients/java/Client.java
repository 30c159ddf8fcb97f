import java.sql.Connection;
import java.sql.DriverManager;
import java.util.Properties;

/** usage: Client ordinary|queue HOST PORT DATABASE. Prints one line per finding; the Go tests compare them. */
public final class Client {
    private final String host, port, database;

    private Client(String host, String port, String database) {
        this.host = host;
        this.port = port;
        this.database = database;
    }

    public static void main(String[] args) throws Exception {
        Client client = new Client(args[1], args[2], args[3]);
        if (args[0].equals("queue")) {
            new Queue(client).run();
        } else {
            new Ordinary(client).run();
        }
    }

    String database() {
        return database;
    }

    /** Connects; settings are name and value in turn. */
    Connection connect(String... settings) throws Exception {
        Properties properties = new Properties();
        properties.setProperty("user", "postgres");
        for (int i = 0; i < settings.length; i += 2) {
            properties.setProperty(settings[i], settings[i + 1]);
        }
        return DriverManager.getConnection("jdbc:postgresql://" + host + ":" + port + "/" + database, properties);
    }
}
