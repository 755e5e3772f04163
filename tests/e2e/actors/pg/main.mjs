import { actingAs } from "./actor.mjs";
import { pool } from "./pool.mjs";
import { take } from "./steps.mjs";

const update = (client, status) =>
  client.query("update invoice set status = $1, backend = pg_backend_pid() where id = 7", [status]);
const stick = async (client, status) => {
  await update(client, status);
  client.query("select pg_sleep(0.5)").catch(() => {});
  client.connectionParameters.query_timeout = 1; // the rollback waits for its turn no longer, and is never sent
  throw new Error("the step fails");
};

await take((actor, work, step) =>
  step.way === "plain" ? update(pool, step.status) : actingAs(pool, actor, work(step.way === "sticks" ? stick : update)),
);
await pool.end();
