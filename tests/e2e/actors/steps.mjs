import { readFileSync } from "node:fs";

/** The steps of the standard input, in turn: `change` makes one, in the way that the step says. */
export async function take(change) {
  for (const line of readFileSync(0, "utf8").trim().split("\n")) {
    const fields = line.split(" ").map((field) => field.split(":"));
    const step = Object.fromEntries(fields.map(([name, text]) => [name, Buffer.from(text, "base64").toString()]));
    const actor = { id: step.actor ?? null, tenant: step.tenant, context: step.context && JSON.parse(step.context) };
    const work = (update) => async (connection) => {
      await update(connection, step.status);
      if (step.way === "fails") throw new Error("the step fails");
    };
    await change(actor, work, step).catch((error) => {
      if (!/the step fails|terminating connection/.test(`${error.message} ${error.cause?.message}`)) throw error;
    });
  }
}
