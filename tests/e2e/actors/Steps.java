import static java.nio.charset.StandardCharsets.UTF_8;

import java.util.Base64;
import java.util.HashMap;
import java.util.Map;
import java.util.Scanner;

/** The steps of the standard input. */
class Steps {
    static class Failure extends RuntimeException {}

    interface Change {
        void make(Map<String, String> step) throws Exception;
    }

    /** Make the steps, in turn. */
    static void take(Change change) throws Exception {
        Scanner lines = new Scanner(System.in);
        while (lines.hasNextLine()) {
            Map<String, String> step = new HashMap<>();
            for (String field : lines.nextLine().split(" ")) {
                String[] parts = field.split(":", 2);
                step.put(parts[0], new String(Base64.getDecoder().decode(parts[1]), UTF_8));
            }
            try {
                change.make(step);
            } catch (Failure wanted) {
                // the transaction has ended
            } catch (Exception error) {
                if (!isOfLostConnection(error)) {
                    throw error;
                }
            }
        }
    }

    private static boolean isOfLostConnection(Throwable error) {
        return error != null
            && (error.getMessage().contains("terminating connection") || isOfLostConnection(error.getCause()));
    }

    /** Fail if the step says so. */
    static void mayFail(Map<String, String> step) {
        if (step.get("way").equals("fails")) {
            throw new Failure();
        }
    }

    static Actor actor(Map<String, String> step) {
        return new Actor(step.get("actor"), step.get("tenant"), step.get("context"));
    }

    static String url() {
        Map<String, String> server = System.getenv();
        return "jdbc:postgresql://%s:%s/%s?user=%s".formatted(
            server.get("PGHOST"), server.get("PGPORT"), server.get("PGDATABASE"), server.get("PGUSER"));
    }
}
