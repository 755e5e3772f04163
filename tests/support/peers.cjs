// Signs and verifies with the JavaScript libraries: one question a line in, one answer a line out.
const lines = require("node:readline").createInterface({ input: process.stdin });

lines.on("line", (line) => {
  const { library, secret, sign, verify } = JSON.parse(line);
  const webhook = new (require(library).Webhook)(secret);
  let answer;
  if (sign) {
    answer = webhook.sign(sign.id, new Date(sign.timestamp * 1000), sign.body);
  } else {
    try {
      webhook.verify(verify.body, verify.headers);
      answer = true;
    } catch {
      answer = false;
    }
  }
  console.log(JSON.stringify(answer));
});
