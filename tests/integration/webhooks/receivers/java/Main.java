import static java.nio.charset.StandardCharsets.ISO_8859_1;

import java.util.Base64;
import java.util.HashMap;
import java.util.Map;
import java.util.Scanner;
import java.util.function.UnaryOperator;

class Main {
    public static void main(String[] arguments) {
        Scanner lines = new Scanner(System.in);
        while (lines.hasNextLine()) {
            Map<String, byte[]> fields = new HashMap<>();
            for (String field : lines.nextLine().split(" ")) {
                String[] parts = field.split(":", 2);
                fields.put(parts[0], Base64.getDecoder().decode(parts[1]));
            }
            UnaryOperator<String> header =
                name -> fields.containsKey(name) ? new String(fields.get(name), ISO_8859_1) : null;
            try {
                System.out.println(Webhook.isAuthentic(header.apply("secret"), header, fields.get("body")));
            } catch (IllegalArgumentException unusable) {
                System.out.println("unusable");
            }
        }
    }
}
