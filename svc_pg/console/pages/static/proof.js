// svc-pg console: verify a certificate in this browser, by WebCrypto and the public key. The page says that something is
// verified after this file has done it, and not before.
const utf8 = new TextEncoder()
const hexOf = (bytes) => [...bytes].map((byte) => byte.toString(16).padStart(2, "0")).join("")
const short = (hex) => `${hex.slice(0, 8)}…${hex.slice(-4)}`
const step = (state, text, note = "") => ({ state, text, note })

function bytesOf(hex) {
  if (typeof hex !== "string" || !/^([0-9a-f]{2})*$/.test(hex)) throw new TypeError("a digest cannot be read")
  return Uint8Array.from(hex.match(/../g) ?? [], (pair) => parseInt(pair, 16))
}
const decoded = (base64) => Uint8Array.from(atob(base64), (char) => char.charCodeAt(0))
function joined(...parts) {
  const all = new Uint8Array(parts.reduce((size, part) => size + part.length, 0))
  parts.reduce((at, part) => { all.set(part, at); return at + part.length }, 0)
  return all
}
function int64(number) {
  if (number === 2 ** 63) return bytesOf(`7f${"ff".repeat(7)}`) // an infinite time, which JSON.parse rounds
  if (!Number.isSafeInteger(number)) throw new RangeError(`the number ${number} is too large for this browser`)
  const bytes = new Uint8Array(8)
  new DataView(bytes.buffer).setBigInt64(0, BigInt(number))
  return bytes
}
function timeOf(leaf) { // microseconds since 2000
  const time = new Date(Date.UTC(2000, 0, 1) + Number(new DataView(leaf.buffer).getBigInt64(8) / 1000n))
  return isNaN(time) ? "infinite" : time.toISOString()
}

// Public keys: s1:BASE64, several with commas, or PEM, which has no id and is tried for each seal.
export function keysOf(text) {
  if (/PRIVATE|SVC_SEAL_KEY=/.test(text)) throw new TypeError("This is a private key: paste the public one, and keep that one secret")
  const pem = [...text.matchAll(/-----BEGIN PUBLIC KEY-----([A-Za-z0-9+/=\s]+)-----END PUBLIC KEY-----/g)]
  const words = text.trim().replace(/^SVC_SEAL_PUBLIC_KEYS=/, "").split(/[,\s]+/).filter(Boolean)
  try {
    const keys = pem.length
      ? pem.map(([, base64]) => ({ id: null, bytes: decoded(base64.replace(/\s/g, "")) })).map(({ id, bytes }) =>
        ({ id, bytes: hexOf(bytes.slice(0, 12)) === "302a300506032b6570032100" ? bytes.slice(12) : new Uint8Array() }))
      : words.map((word) => ({ id: word.slice(0, word.indexOf(":")), bytes: decoded(word.slice(word.indexOf(":") + 1)) }))
    if (keys.every(({ id, bytes }) => id !== "" && bytes.length === 32)) return keys
  } catch { /* it is none */ }
  throw new TypeError("This is no public key: neither s1:BASE64 nor PEM")
}

// RFC 9162, section 2.1
const sha256 = async (...parts) => new Uint8Array(await crypto.subtle.digest("SHA-256", joined(...parts)))
const lowest = (leaf) => sha256(Uint8Array.of(0), leaf)
const above = (left, right) => sha256(Uint8Array.of(1), left, right)
export async function rootOf(leaves) {
  let level = await Promise.all(leaves.map(lowest))
  while (level.length > 1) {
    const next = []
    for (let at = 0; at < level.length; at += 2) next.push(at + 1 < level.length ? await above(level[at], level[at + 1]) : level[at])
    level = next
  }
  return level[0]
}

async function contents({ content, digest }) {
  if (content === null) return step("info", "Its contents are not here", "they were erased; their digest stands for them")
  return hexOf(await sha256(utf8.encode(content))) === digest
    ? step("ok", "Its contents give their digest", "SHA-256")
    : step("bad", "Its contents have another digest", "they are not those that the proof is about")
}

async function leafOf({ id, time, who, digest }, certified) {
  if (typeof id === "number" && !Number.isSafeInteger(id)) throw new RangeError(`the id ${id} is too large for this browser`)
  const fields = JSON.parse(who)
  if (fields[0] !== 2 || fields.length !== 16) throw new TypeError("the entry has another version than this page knows")
  if (String(id) !== certified.id) throw new TypeError(`the proof is of entry ${id}`)
  return joined(int64(id), int64(time), await sha256(await sha256(utf8.encode(who)), bytesOf(digest)))
}

function compared(leaf, sealed) {
  if (!sealed || hexOf(sealed) === hexOf(leaf)) return step("ok", "Its fields and that digest give its leaf", short(hexOf(leaf.slice(16))))
  const [was, is] = [sealed, leaf].map((each) => short(hexOf(each.slice(16))))
  const redated = timeOf(sealed) === timeOf(leaf) ? "" : `its time was ${timeOf(sealed)} and is ${timeOf(leaf)}`
  return step("bad", "It is not as it was sealed", [was === is ? "" : `its digest was ${was} and is ${is}`, redated].filter(Boolean).join("; "))
}

async function climbed(leaf, path, seal) {
  if (path.length > 64) throw new TypeError("the path is too long")
  const nodes = [await lowest(leaf)]
  for (const { left, right } of path) nodes.push(left ? await above(bytesOf(left), nodes.at(-1)) : await above(nodes.at(-1), bytesOf(right)))
  const root = hexOf(nodes.at(-1)), steps = `${path.length} ${path.length === 1 ? "step" : "steps"}`
  return [nodes.map(hexOf), root === seal.root
    ? step("ok", `${steps} give the root of seal ${seal.number}`, short(root))
    : step("bad", `It is not in seal ${seal.number}`, `${steps} give ${short(root)}, and ${short(seal.root)} was sealed`)]
}

async function signed({ text, signature }, seal, keys) {
  const fitting = keys.filter(({ id }) => id === null || id === seal.key_id)
  if (!fitting.length) return step("wait", "The signature was not checked", `no public key ${seal.key_id} is known here: paste it below`)
  for (const { bytes } of fitting) {
    let key
    try { key = await crypto.subtle.importKey("raw", bytes, { name: "Ed25519" }, false, ["verify"]) }
    catch (error) {
      if (error.name === "DataError") continue // no point of the curve
      return step("wait", "The signature was not checked", "this browser has no Ed25519; SHA-256 it has. The command below checks the signature too")
    }
    if (await crypto.subtle.verify({ name: "Ed25519" }, key, decoded(signature), utf8.encode(text))) return step("ok", "The root is signed", `Ed25519, key ${seal.key_id}`)
  }
  return step("bad", "The signature is not of this seal", `neither text nor signature of seal ${seal.number} fit the key ${seal.key_id}`)
}

// The entry is about the subject of its certificate, by what is proven of it; the first one of an erasure tells of it.
function subjectOf({ state, proof: { entry } }, { subject, table, record, entries }, isFirst) {
  const who = JSON.parse(entry.who), keys = [...who.slice(5, 7), ...(entry.content === null ? [] : JSON.parse(entry.content).slice(0, 2))]
  const other = step(state === "erased_unproven" ? "wait" : "bad", "Its record is not proven", "what is proven of it does not name the record of the certificate")
  if (!["entry", "record", "erasure"].includes(subject)) return step("bad", "The certificate has no subject")
  if (subject === "record" && !(who[2] === table && typeof record === "string" && keys.includes(record))) return other
  if (subject === "erasure" && isFirst && !(who[2] === "svc.audit_logs" && who[12] === "audit log erased")) return step("bad", "It tells of no erasure")
  if (subject === "entry" && entries.length !== 1) return step("bad", "The certificate has other entries too")
  return step("ok", "It is about the subject of the certificate")
}

const STATES = {
  not_sealed: step("wait", "Not sealed yet", "nothing proves it until the next seal"),
  missing: step("bad", "Two rows of the log have this id", "no seal has both"),
}
export async function check(certified, keys, certificate = null) {
  const { proof, sealedLeaf } = certified
  if (!proof) {
    const only = STATES[certified.state] ?? step("wait", "There is no proof")
    return { state: only.state, nodes: [], steps: { leaf: only } }
  }
  try {
    const seal = JSON.parse(proof.seal.text)
    if (proof.kind !== "svc-pg audit proof" || proof.version !== 2 || seal.kind !== "svc-pg audit seal" || seal.version !== 2) throw new TypeError("the proof has another version than this page knows")
    const leaf = await leafOf(proof.entry, certified), sealed = sealedLeaf ? bytesOf(sealedLeaf) : null
    const [nodes, path] = await climbed(sealed ?? leaf, proof.path, seal)
    const steps = { contents: await contents(proof.entry), leaf: compared(leaf, sealed), path, signature: await signed(proof.seal, seal, keys) }
    if (certificate) steps.subject = subjectOf(certified, certificate, certified === certificate.entries[0])
    if (!["sealed", "changed", "erased_unproven"].includes(certified.state) && path.state === "ok") steps.path = step("bad", "Its state is not that of a sealed entry", String(certified.state))
    const states = Object.values(steps).map(({ state }) => state)
    const state = states.includes("bad") ? "bad" : states.includes("wait") ? "wait" : "ok"
    return { state, steps, nodes, leaf, keyId: seal.key_id, isErased: proof.entry.content === null }
  } catch (error) {
    const state = error instanceof RangeError ? "wait" : "bad"
    return { state, nodes: [], steps: { leaf: step(state, state === "bad" ? "The proof cannot be read" : "It was not checked", error.message) } }
  }
}

// The page
const place = document.querySelector("[data-certificate]")
const $ = (selector, root = document) => root.querySelector(selector)
const ICONS = { ok: "ok", bad: "warn", wait: "wait", info: "info", off: "wait" }
const WORDS = { ok: "Proven", bad: "Not proven", wait: "Not checked" }
function shown(element, state, word) {
  if (!element) return
  element.classList.remove("ok", "bad", "wait", "info", "off")
  element.classList.add(state)
  $("use", element)?.setAttribute("href", $("use", element).getAttribute("href").replace(/#.*/, `#${ICONS[state]}`))
  const words = $("[data-word]", element)
  if (words) words.textContent = word
}
function told(name, { state, text, note }) {
  const item = $(`[data-step=${name}]`)
  if (!item) return
  shown($(".i", item), state)
  shown(item, state, text)
  item.classList.remove("ok", "bad", "wait", "info", "off") // the icon has the colour
  $("[data-note]", item).textContent = note
}
function summary(state, words) {
  shown($("[data-verdict]"), state, WORDS[state])
  $("[data-summary]").textContent = words
}

function showEntry(found) {
  for (const name of ["contents", "leaf", "path", "signature"]) told(name, found.steps[name] ?? step("wait", "Not checked", found.steps.leaf.text))
  const drawn = [...document.querySelectorAll("[data-node]")].reverse()
  drawn.forEach((item, at) => item.classList.toggle("differs", item.dataset.node !== found.nodes[at]))
  document.documentElement.classList.toggle("unproven", found.state === "bad")
}
function showRow(certified, found) {
  const row = $(`[data-entry="${CSS.escape(certified.id)}"] [data-state]`)
  const first = Object.values(found.steps).find(({ state }) => state === found.state)
  shown(row, found.state, found.state === "ok" ? (found.isErased ? "What is left is proven" : "Proven") : first.text)
}

let pasted = null, runs = 0
async function run() {
  const number = ++runs, own = pasted // a later run has another key, and the word
  if (!globalThis.crypto?.subtle) return summary("wait", "Nothing was checked: browsers offer WebCrypto to pages with https alone, and to localhost. The command below checks it.")
  const began = performance.now()
  let certificate
  try {
    const answer = await fetch(place.dataset.certificate, { headers: { accept: "application/json" }, signal: AbortSignal.timeout(20000) })
    if (!answer.ok || answer.redirected) throw new Error(`the console answers ${answer.redirected ? "with the sign-in" : answer.status}`)
    certificate = await answer.json()
  } catch (error) {
    return number === runs && summary("wait", `Nothing was checked, because the certificate did not arrive: ${error.message}`)
  }
  const keys = own ?? keysOf(place.dataset.keys || ",")
  const found = []
  for (const certified of certificate.entries) found.push(await check(certified, keys, certificate))
  const sealed = certificate.entries.map(({ state }, at) => (state === "sealed" ? found[at] : null)).filter(Boolean)
  const leaves = sealed.map(({ leaf }) => leaf).filter(Boolean), hasAll = leaves.length === sealed.length
  const digest = leaves.length ? hexOf(await rootOf(leaves)) : ""
  if (number !== runs) return
  const isOne = "one" in place.dataset
  if (isOne) showEntry(found[0])
  else certificate.entries.forEach((certified, at) => showRow(certified, found[at]))
  const isSame = !hasAll || digest === (place.dataset.digest ?? "")
  const states = [...found.map(({ state }) => state), ...(isSame ? [] : ["bad"]), ...(found.length && hasAll ? [] : ["wait"])]
  const state = states.includes("bad") ? "bad" : states.includes("wait") ? "wait" : "ok"
  const at = `${new Date().toISOString().slice(11, 19)} UTC`, took = `By this browser at ${at}, in ${Math.ceil(performance.now() - began)} ms`
  const source = own ? "with the key that you pasted" : "with the key that this console gave: compare it with a copy from elsewhere"
  const words = {
    ok: `${took}, ${source}.`,
    bad: isSame ? `${took}: what is red is not as it was sealed.` : `${took}: the digest on this page is not that of the certificate, which has changed since. Load the page again.`,
    wait: isOne && !found[0].leaf ? `${took}: ${found[0].steps.leaf.text.toLowerCase()}, ${found[0].steps.leaf.note}.` : `${took}: not all could be checked.`,
  }
  summary(state, words[state])
  if (state === "ok" && found.some(({ isErased }) => isErased) && isOne) $("[data-verdict] [data-word]").textContent = "What is left is proven"
}

function begin() {
  const number = runs + 1
  run().catch((error) => number === runs && summary("wait", `Nothing was checked: ${error.message}`))
}

if (place) {
  begin()
  $("[data-check]")?.addEventListener("click", () => {
    const text = $("#other-key").value
    try { pasted = text.trim() ? keysOf(text) : null }
    catch (error) { return void ($("#key-said").textContent = error.message) }
    $("#key-said").textContent = ""
    begin()
  })
  $("[data-print]")?.addEventListener("click", () => print())
}
