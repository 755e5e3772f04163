import org.hibernate.Session;
import org.hibernate.SessionFactory;
import org.hibernate.cfg.Configuration;

class Main {
    public static void main(String[] arguments) throws Exception {
        SessionFactory sessions = new Configuration()
            .setProperty("hibernate.connection.driver_class", "org.postgresql.Driver")
            .setProperty("hibernate.connection.url", Steps.url())
            .setProperty("hibernate.connection.pool_size", "1")
            .setProperty("hibernate.dialect", "org.hibernate.dialect.PostgreSQLDialect")
            .setProperty("hibernate.bytecode.use_reflection_optimizer", "false")
            .addResource("Invoice.hbm.xml")
            .buildSessionFactory();
        Steps.take(step -> {
            if (step.get("way").equals("plain")) {
                Session session = sessions.openSession();
                session.beginTransaction();
                update(session, step.get("status"));
                session.getTransaction().commit();
                session.close();
                return;
            }
            Acting.as(Steps.actor(step), sessions, session -> {
                update(session, step.get("status"));
                Steps.mayFail(step);
                return null;
            });
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
