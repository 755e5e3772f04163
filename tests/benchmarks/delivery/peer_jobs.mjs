// Sign and POST, as peer_jobs.py does: node peer_jobs.mjs WAY JOBS URL, in SVC_BENCHMARK_CONNINFO, with the payload in
// SVC_BENCHMARK_PAYLOAD. Fills the queue, prints "ready", waits for a line, works, and prints its figures as JSON.
import { createHmac, randomUUID } from "node:crypto";
import { createRequire } from "node:module";
import { createInterface } from "node:readline";

const [way, count, url] = process.argv.slice(2);
const jobs = Number(count);
const require = createRequire(`${process.env.SVC_BENCHMARK_MODULES}/`);
const { Pool: Http } = require("undici");
const connectionString = process.env.SVC_BENCHMARK_CONNINFO;
const payload = JSON.parse(process.env.SVC_BENCHMARK_PAYLOAD);
const CONCURRENCY = 100;
const BATCH = 500;

const target = new URL(url);
const http = new Http(target.origin, { connections: CONCURRENCY });

async function post(data) {
  const id = randomUUID();
  const timestamp = String(Math.floor(Date.now() / 1000));
  const body = JSON.stringify(data);
  const signature = createHmac("sha256", "secretsecretsecretsecret").update(`${id}.${timestamp}.${body}`);
  const answer = await http.request({
    method: "POST",
    path: target.pathname,
    headers: {
      "content-type": "application/json",
      "webhook-id": id,
      "webhook-timestamp": timestamp,
      "webhook-signature": `v1,${signature.digest("base64")}`,
    },
    body,
  });
  await answer.body.dump();
  if (answer.statusCode >= 300) throw new Error(`status ${answer.statusCode}`);
}

// As its documentation tunes it for throughput: jobs are fetched, and their ends are recorded, many at a time.
async function graphileWorker() {
  const { Logger, makeWorkerUtils, run } = require("graphile-worker");
  const logger = new Logger(() => () => {});
  const utils = await makeWorkerUtils({ connectionString, logger });
  await utils.migrate();
  return {
    insert: (number) => utils.addJobs(Array.from({ length: number }, () => ({ identifier: "post", payload }))),
    work: () =>
      run({
        logger,
        taskList: { post },
        noHandleSignals: true,
        preset: {
          worker: {
            connectionString,
            concurrentJobs: CONCURRENCY,
            maxPoolSize: 20,
            localQueue: { size: BATCH },
            completeJobBatchDelay: 0,
            failJobBatchDelay: 0,
          },
        },
      }),
    unfinished: "select exists (select from graphile_worker._private_jobs) as is_true",
  };
}

// Workers that each take a batch, do all of it and complete it, and ask again at once while batches are full.
async function pgBoss() {
  const { PgBoss } = require("pg-boss");
  const boss = new PgBoss({ connectionString, max: 10, supervise: false, schedule: false });
  boss.on("error", () => {});
  await boss.start();
  await boss.createQueue("post");
  const handler = (batch) => Promise.all(batch.map((job) => post(job.data)));
  return {
    insert: (number) => boss.insert("post", Array.from({ length: number }, () => ({ data: payload }))),
    work: () =>
      boss.work("post", { localConcurrency: 4, batchSize: CONCURRENCY, burstWhenBatchFull: true }, handler),
    unfinished: "select exists (select from pgboss.job where name = 'post' and state < 'completed') as is_true",
  };
}

const { insert, work, unfinished } = await { "graphile-worker": graphileWorker, "pg-boss": pgBoss }[way]();
for (let left = jobs; left > 0; left -= BATCH) await insert(Math.min(left, BATCH));
const { Client } = require("pg");
const client = new Client({ connectionString });
await client.connect();
console.log("ready");
const lines = createInterface({ input: process.stdin });
await new Promise((resolve) => lines.once("line", resolve));
const started = process.hrtime.bigint();
const used = process.cpuUsage();
await work();
while ((await client.query(unfinished)).rows[0].is_true) await new Promise((resolve) => setTimeout(resolve, 20));
const { user, system } = process.cpuUsage(used);
console.log(JSON.stringify({ seconds: Number(process.hrtime.bigint() - started) / 1e9, processor: (user + system) / 1e6 }));
await new Promise((resolve) => lines.once("line", resolve));
const inserting = process.hrtime.bigint();
for (let batch = 0; batch < 4; batch++) await insert(BATCH);
const rate = (4 * BATCH) / (Number(process.hrtime.bigint() - inserting) / 1e9);
console.log(JSON.stringify({ batch: rate }));
process.exit(0);
