// The calls of client_behaviours.py, by a client that openapi-typescript makes of the document
declare const process: { argv: string[] }
import createClient from "openapi-fetch"
import type { components, paths } from "./shop.js"

const [baseUrl, ofOperator, ofReader, ofCustomer] = process.argv.slice(2)
const HOOK = "https://9.9.9.9/hook"
const TABLE = "svc.webhook_endpoints"

type Problem = components["schemas"]["Problem"]
type CreateEndpoint = components["schemas"]["CreateEndpointRequest"]
type Answer<T> = { data?: T; error?: Problem; response: Response }

function client(token?: string) {
    return createClient<paths>({ baseUrl, headers: token ? { Authorization: `Bearer ${token}` } : {} })
}

function done<T>({ data, error, response }: Answer<T>): T {
    if (error) throw new Error(`${response.status} ${error.code}: ${error.detail}`)
    return data as T
}

function refusal({ error, response }: Answer<unknown>): Problem {
    if (!error) throw new Error(`the call succeeded: ${response.status} ${response.url}`)
    if (error.status !== response.status || !error.requestId) throw new Error("not the problem of the answer")
    return error
}

function told(answer: Answer<unknown>): [number, string] {
    const { status, code } = refusal(answer)
    return [status, code]
}

async function* lines(body: ReadableStream<Uint8Array> | null | undefined): AsyncGenerator<string> {
    if (!body) throw new Error("the answer is no stream")
    const reader = body.getReader()
    const decoder = new TextDecoder()
    let rest = ""
    try {
        for (;;) {
            const { done, value } = await reader.read()
            if (done) break
            const found = (rest + decoder.decode(value, { stream: true })).split("\n")
            rest = found.pop() ?? ""
            yield* found
        }
        if (rest) yield rest
    } finally {
        await reader.cancel()
    }
}

const operator = client(ofOperator)
const found: Record<string, unknown> = {}

async function create(more: Partial<CreateEndpoint>, key?: string) {
    const body = { url: HOOK, events: ["order.*"], ...more }
    return await operator.POST("/webhooks/endpoints", { body, params: { header: { "Idempotency-Key": key } } })
}

const mine = new Set([done(await create({ tenant: "acme" })).id, done(await create({ tenant: "acme" })).id])
const other = { params: { path: { id: done(await create({ tenant: "globex" })).id } } }
const first = { tenant: "acme", limit: 1 }
const page = done(await operator.GET("/webhooks/endpoints", { params: { query: first } }))
const cursor = page.nextCursor ?? ""
const rest = done(await operator.GET("/webhooks/endpoints", { params: { query: { ...first, cursor } } }))
const both = [...page.data, ...rest.data]
if (!both.every(({ id }) => mine.has(id))) throw new Error("other endpoints")
found["pages of a filter"] = [page.data.length, both.length, mine.size]

const read = await operator.GET("/webhooks/endpoints/{id}", other)
found["states"] = [
    done(read).status,
    done(await operator.POST("/webhooks/endpoints/{id}/pause", other)).status,
    done(await operator.POST("/webhooks/endpoints/{id}/resume", other)).status,
]
const change = async (tag: string) =>
    await operator.PATCH("/webhooks/endpoints/{id}", {
        params: { ...other.params, header: { "If-Match": tag } },
        body: { description: "Orders" },
    })
found["outdated"] = told(await change('"0"'))
const { response } = await operator.GET("/webhooks/endpoints/{id}", other)
if (done(await change(response.headers.get("ETag") ?? "")).description !== "Orders") throw new Error("not changed")
await operator.DELETE("/webhooks/endpoints/{id}", other)
found["deleted"] = told(await operator.GET("/webhooks/endpoints/{id}", other))

const event = { event: "order.created", payload: { id: 7 }, tenant: "acme", delay: 3600 }
const { id: messageId } = done(await operator.POST("/webhooks/events", { body: event }))
const { data: deliveries } = done(await operator.GET("/webhooks/deliveries", { params: { query: { messageId } } }))
const [delivery] = deliveries
if (!delivery || deliveries.length !== 2) throw new Error("not two deliveries")
const ofDelivery = { params: { path: { id: delivery.id } } }
found["delivery"] = [
    delivery.status,
    done(await operator.POST("/webhooks/deliveries/{id}/cancel", ofDelivery)).status,
    done(await operator.POST("/webhooks/deliveries/{id}/retry", ofDelivery)).status,
]

found["without a token"] = told(await client().GET("/webhooks/endpoints"))
found["without the permission"] = told(await client(ofReader).POST("/webhooks/endpoints/{id}/pause", other))
found["twice"] = told(await operator.POST("/tenant/tenants", { body: { id: "acme", name: "Another" } }))
const limited = refusal(await operator.GET("/webhooks/endpoints", { params: { query: { limit: 0 } } }))
found["parameter"] = [limited.status, limited.code, limited.parameter]
found["body"] = told(await operator.POST("/webhooks/endpoints", { body: { url: "nonsense", events: ["*"] } }))
found["odd id"] = told(await operator.GET("/tenant/tenants/{id}", { params: { path: { id: "../a/b?c#d" } } }))
const ping = { params: { path: { id: delivery.endpointId } } }
for (let times = 0; times < 5; times++) {
    done(await client(ofCustomer).POST("/webhooks/endpoints/{id}/ping", ping))
}
const often = refusal(await client(ofCustomer).POST("/webhooks/endpoints/{id}/ping", ping))
found["too often"] = [often.status, often.code, (often.retryAfter ?? 0) > 0]

const made = new Set([done(await create({}, "shop-7")).id, done(await create({}, "shop-7")).id])
found["the same key"] = made.size === 1
found["another body"] = told(await create({ description: "Another" }, "shop-7"))

const listed: string[] = []
for (let next: string | null | undefined; next !== null; ) {
    const query = { resource: [TABLE], order: "oldest" as const, limit: 5, ...(next ? { cursor: next } : {}) }
    const part = done(await operator.GET("/audit/entries", { params: { query } }))
    listed.push(...part.data.map(({ id }) => id))
    next = part.nextCursor
}
const ofTable = { params: { query: { resource: [TABLE] } }, parseAs: "stream" as const }
async function exported(): Promise<string[]> {
    const ids: string[] = []
    for await (const line of lines(done(await operator.GET("/audit/export", ofTable)))) {
        ids.push((JSON.parse(line) as components["schemas"]["Entry"]).id)
    }
    return ids
}
// An export leaves out what a transaction that still runs, of whatever database, may come before
const until = Date.now() + 30_000
while ((await exported()).join() !== listed.join()) {
    if (Date.now() > until) throw new Error("the entries are not settled")
    await new Promise((go) => setTimeout(go, 200))
}
found["export"] = listed.length > 0
const asCsv = { params: { query: { resource: [TABLE], format: "csv" as const } }, parseAs: "text" as const }
found["csv"] = done(await operator.GET("/audit/export", asCsv))?.slice(0, 22)

const events: string[] = []
let name = ""
for await (const line of lines(done(await operator.GET("/account/changes", { parseAs: "stream" })))) {
    if (line.startsWith("event: ")) name = line.slice(7)
    if (!line.startsWith("data: ") || name === "alive") continue
    if (name === "following") {
        events.push(name)
        done(await create({ tenant: "globex" }))
    } else if (line.includes('"endpoints"')) {
        events.push(name)
        break
    }
}
found["events"] = [...events, true]
console.log(JSON.stringify(found))
