import { PrismaPg } from "@prisma/adapter-pg";
import { actingAs } from "./actor.mjs";
import { PrismaClient } from "./generated/index.js";
import { take } from "./steps.mjs";

const { PGUSER, PGHOST, PGPORT, PGDATABASE } = process.env;
const connectionString = `postgresql://${PGUSER}@${PGHOST}:${PGPORT}/${PGDATABASE}`;
const prisma = new PrismaClient({ adapter: new PrismaPg({ connectionString, max: 1 }) });
const update = async (client, status) => {
  const [{ backend }] = await client.$queryRaw`select pg_backend_pid() as backend`;
  await client.invoice.update({ where: { id: 7 }, data: { status, backend } });
};

await take((actor, work, step) =>
  step.way === "plain" ? update(prisma, step.status) : actingAs(prisma, actor, work(update)),
);
await prisma.$disconnect();
