import com.zaxxer.hikari.HikariDataSource;
import java.sql.Connection;
import java.sql.PreparedStatement;
import java.sql.SQLException;

class Main {
    private static final String UPDATE = "update invoice set status = ?, backend = pg_backend_pid() where id = 7";

    public static void main(String[] arguments) throws Exception {
        try (HikariDataSource pool = new HikariDataSource()) {
            pool.setJdbcUrl(Steps.url());
            pool.setMaximumPoolSize(1);
            Steps.take(step -> {
                if (step.get("way").equals("plain")) {
                    try (Connection connection = pool.getConnection()) {
                        update(connection, step.get("status"));
                    }
                    return;
                }
                Steps.actor(step).act(pool, connection -> {
                    update(connection, step.get("status"));
                    Steps.mayFail(step);
                    return null;
                });
            });
        }
    }

    private static void update(Connection connection, String status) throws SQLException {
        try (PreparedStatement statement = connection.prepareStatement(UPDATE)) {
            statement.setString(1, status);
            statement.executeUpdate();
        }
    }
}
