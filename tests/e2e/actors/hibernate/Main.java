import org.hibernate.JDBCException;
import org.hibernate.Session;
import org.hibernate.SessionFactory;
import org.hibernate.cfg.Configuration;

class Main {
    private static SessionFactory sessions = connect();

    private static SessionFactory connect() {
        return new Configuration()
            .setProperty("hibernate.connection.driver_class", "org.postgresql.Driver")
            .setProperty("hibernate.connection.url", Steps.url())
            .setProperty("hibernate.connection.pool_size", "1")
            .setProperty("hibernate.dialect", "org.hibernate.dialect.PostgreSQLDialect")
            .setProperty("hibernate.bytecode.use_reflection_optimizer", "false")
            .addResource("Invoice.hbm.xml")
            .buildSessionFactory();
    }

    public static void main(String[] arguments) throws Exception {
        Steps.take(step -> {
            if (step.get("way").equals("plain")) {
                Session session = sessions.openSession();
                session.beginTransaction();
                update(session, step.get("status"));
                session.getTransaction().commit();
                session.close();
                return;
            }
            try {
                Acting.as(Steps.actor(step), sessions, session -> {
                    update(session, step.get("status"));
                    Steps.mayFail(step);
                    return null;
                });
            } catch (JDBCException lost) { // the simple pool of Hibernate would use the connection again
                sessions.close();
                sessions = connect();
                throw lost;
            }
        });
        sessions.close();
    }

    private static void update(Session session, String status) {
        Invoice invoice = (Invoice) session.get(Invoice.class, 7);
        invoice.status = status;
        invoice.backend = ((Number) session.createSQLQuery("select pg_backend_pid()").uniqueResult()).intValue();
        session.flush();
    }
}
