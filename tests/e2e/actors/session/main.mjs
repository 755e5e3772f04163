import pg from "pg";
import { actingAs } from "./actor.mjs";
import { take } from "./steps.mjs";

const pool = new pg.Pool({ max: 1 });
const update = (client, status) =>
  client.query("update invoice set status = $1, backend = pg_backend_pid() where id = 7", [status]);

await take((actor, work, step) =>
  step.way === "plain" ? update(pool, step.status) : actingAs(pool, actor, work(update)),
);
await pool.end();
