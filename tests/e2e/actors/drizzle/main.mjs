import { eq, sql } from "drizzle-orm";
import { drizzle } from "drizzle-orm/node-postgres";
import { integer, pgTable, text } from "drizzle-orm/pg-core";
import { actingAs } from "./actor.mjs";
import { pool } from "./pool.mjs";
import { take } from "./steps.mjs";

const db = drizzle(pool);
const invoice = pgTable("invoice", { id: integer().primaryKey(), status: text(), backend: integer() });
const update = (tx, status) =>
  tx.update(invoice).set({ status, backend: sql`pg_backend_pid()` }).where(eq(invoice.id, 7));

await take(async (actor, work, step) => {
  await (step.way === "plain" ? update(db, step.status) : actingAs(db, actor, work(update))).catch((error) => {
    if (error.query !== "rollback") throw error;
    throw new Error("the rollback hides: terminating connection", { cause: error });
  });
});
await pool.end();
