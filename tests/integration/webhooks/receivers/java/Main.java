import static java.nio.charset.StandardCharsets.ISO_8859_1;

import java.util.Base64;
import java.util.HashMap;
import java.util.Map;
import java.util.Scanner;

class Main {
    public static void main(String[] arguments) {
        Scanner lines = new Scanner(System.in);
        while (lines.hasNextLine()) {
            Map<String, byte[]> fields = new HashMap<>();
            for (String field : lines.nextLine().split(" ")) {
                String[] parts = field.split(":", 2);
                fields.put(parts[0], Base64.getDecoder().decode(parts[1]));
            }
            System.out.println(Webhook.isAuthentic(
                arguments[0],
                name -> fields.containsKey(name) ? new String(fields.get(name), ISO_8859_1) : null,
                fields.get("body")));
        }
    }
}
