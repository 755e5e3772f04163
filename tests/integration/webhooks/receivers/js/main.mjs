import { readFileSync } from "node:fs";
import { isAuthentic } from "./webhook.mjs";

for (const line of readFileSync(0, "utf8").trim().split("\n")) {
  const fields = line.split(" ").map((field) => field.split(":"));
  const { secret, body, ...headers } = Object.fromEntries(fields.map(([name, text]) => [name, Buffer.from(text, "base64")]));
  const texts = Object.entries(headers).map(([name, value]) => [name, value.toString("latin1")]);
  const request = { headers: new Headers(texts) };
  console.log(isAuthentic(secret.toString(), Object.fromEntries(request.headers), body));
}
