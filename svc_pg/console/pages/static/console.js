// svc-pg console: conveniences only. Every page works without this file.
const $ = (selector, root = document) => root.querySelector(selector)
const all = (selector, root = document) => [...root.querySelectorAll(selector)]
const html = document.documentElement

// What happened, for screen readers.
const said = document.body.appendChild(Object.assign(document.createElement("p"), { className: "sr" }))
said.setAttribute("role", "status")
const say = (text) => { said.textContent = text }

// Relative times by the server's clock, so that a wrong one here does not lie.
let skew = 0
const setClock = (now) => { skew = Date.parse(now) - Date.now() || 0 }
const units = [["day", 86400], ["hr", 3600], ["min", 60], ["sec", 1]]
function relative(then) {
  const seconds = Math.round((Date.now() + skew - then) / 1000)
  if (seconds >= 7 * 86400) return new Date(then).toUTCString().slice(5, 16).replace(/^0/, "")
  const [unit, size] = units.find(([, size]) => Math.abs(seconds) >= size) ?? units[3]
  const count = Math.floor(Math.abs(seconds) / size)
  if (unit === "sec" && count < 5) return "just now"
  const words = `${count} ${unit}${unit === "day" && count > 1 ? "s" : ""}`
  return seconds < 0 ? `in ${words}` : `${words} ago`
}
function tick(root = document) {
  for (const time of all("time[data-rel]", root)) time.textContent = relative(Date.parse(time.dateTime))
  for (const time of all("time[data-left]", root)) {
    const left = Math.max(0, Math.round((Date.parse(time.dateTime) - Date.now() - skew) / 1000))
    time.textContent = `${Math.floor(left / 60)}:${String(left % 60).padStart(2, "0")}`
  }
}
setClock(html.dataset.now)
tick()
setInterval(tick, $("time[data-left]") ? 1000 : 15000)

// Sign in at once, if the address asks for that on a machine where one click is all it takes.
$("form[data-submit]")?.requestSubmit()

// Tabs that a phone has no room for: the one of this page is in sight.
for (const tab of all(".tabs [aria-current]")) {
  const tabs = tab.parentElement, end = tab.offsetLeft + tab.offsetWidth - tabs.offsetLeft
  if (end > tabs.clientWidth) tabs.scrollLeft = end - tabs.clientWidth
}

// What works with this script only is hidden until it runs.
function ready(root) {
  for (const element of all("[data-copy][hidden], [data-script][hidden]", root)) element.hidden = false
  for (const box of all(".pick thead [type=checkbox]", root)) box.hidden = false
}
ready(document)

async function copy(button) {
  const source = $(button.dataset.copy)
  try { await navigator.clipboard.writeText(source.value ?? source.textContent) }
  catch { // in a frame of another site, and without https, browsers copy what is selected alone
    if (source.select) source.select()
    else getSelection().selectAllChildren(source)
    if (!document.execCommand("copy")) return say("The text is selected: copy it by keyboard or menu")
  }
  const use = $("use", button), before = use?.getAttribute("href")
  use?.setAttribute("href", before.replace(/#.*/, "#check"))
  say("Copied")
  setTimeout(() => use?.setAttribute("href", before), 1500)
}
addEventListener("click", (event) => {
  const button = event.target.closest?.("[data-copy], [data-open], [data-clear], [data-pause], dialog a[href='#main']")
  if (!button) return
  if (button.matches("[data-copy]")) return copy(button)
  if (button.matches("[data-open]")) { event.preventDefault(); return $(button.dataset.open).showModal() }
  if (button.matches("[data-pause]")) return pause(button)
  if (button.matches("[data-clear]")) return setTimeout(() => count(button.closest(".pick")))
  button.closest("dialog").close()
})

addEventListener("submit", (event) => { // once, for a double click
  if (event.target.method !== "post") return
  if (Date.now() - event.target.dataset.sent < 1000) event.preventDefault()
  else event.target.dataset.sent = Date.now()
})

// Selecting rows: CSS counts them, this tells and selects all.
function count(form) {
  const boxes = all("tbody [type=checkbox]", form), every = $("thead [type=checkbox]", form)
  const chosen = boxes.filter((box) => box.checked).length
  if (every) { every.checked = chosen === boxes.length; every.indeterminate = chosen > 0 && chosen < boxes.length }
  say(`${chosen} selected`)
}
addEventListener("change", ({ target }) => {
  if (target.matches("[data-keys]")) return switchKeys(target.checked)
  const form = target.closest(".pick")
  if (!form) return
  if (target.matches("thead [type=checkbox]")) for (const box of all("tbody [type=checkbox]", form)) box.checked = target.checked
  count(form)
})

// Through time: the slider asks for the page of a change, and takes what differs from there.
let slid = 0, slide = 0
async function showChange(link) {
  const mine = ++slid
  const answer = await fetch(link.href, { headers: { accept: "text/html" } }).catch(() => null)
  if (mine !== slid) return
  if (!answer || answer.redirected || !answer.ok) return void (location = link.href)
  const fresh = new DOMParser().parseFromString(await answer.text(), "text/html")
  if (mine !== slid) return
  for (const old of all("[data-as-of]")) {
    const element = fresh.getElementById(old.id)
    if (element) old.replaceWith(element)
  }
  for (const other of all("[aria-current]", link.closest("ol"))) other.removeAttribute("aria-current")
  link.setAttribute("aria-current", "true")
  document.title = fresh.title
  history.replaceState(null, "", link.href)
  tick()
}
addEventListener("input", ({ target }) => {
  if (!target.matches("[data-slide]")) return
  const link = all(`${target.dataset.slide} a`)[target.value]
  target.setAttribute("aria-valuetext", link.textContent)
  clearTimeout(slide)
  slide = setTimeout(() => showChange(link), 120)
})

// Completion: the server offers whole texts for the one up to the caret; a combobox with a list (ARIA patterns, 1.2).
function completing(form) {
  const field = $("input[name=q]", form), box = $(".offer", form)
  let asked = 0, due = 0, of = ["", 0] // the text and the caret for which the list is
  const options = () => all("[role=option]", box), chosen = () => $("[aria-selected=true]", box)
  const isFind = form.matches(".find")
  for (const [name, value] of [["role", "combobox"], ["aria-autocomplete", "list"], ["aria-expanded", "false"]]) field.setAttribute(name, value)
  function close() {
    asked++
    clearTimeout(due)
    box.hidden = true
    field.setAttribute("aria-expanded", "false")
    choose(null)
  }
  function choose(option) {
    chosen()?.setAttribute("aria-selected", "false")
    if (!option) return field.removeAttribute("aria-activedescendant")
    option.setAttribute("aria-selected", "true")
    field.setAttribute("aria-activedescendant", option.id)
    option.scrollIntoView({ block: "nearest" })
  }
  async function offer() {
    const mine = ++asked, now = [field.value, field.selectionStart], text = field.value.slice(0, field.selectionStart)
    if (isFind && !text.trim()) return recent()
    const more = isFind && text.length < 200 ? { here: here() } : {}
    const answer = await fetch(`${form.dataset.offers}?${new URLSearchParams({ q: text, ...more })}`, { signal: AbortSignal.timeout(5000) }).catch(() => null)
    if (mine !== asked) return
    if (!answer?.ok || answer.redirected) return close()
    const fresh = new DOMParser().parseFromString(await answer.text(), "text/html")
    if (mine !== asked) return
    show(now, ...fresh.body.children)
  }
  function show(now, ...children) {
    box.replaceChildren(...children)
    field.setAttribute("aria-controls", isFind ? "found" : "offers")
    const count = options().length
    if (!count) return close()
    of = now
    box.hidden = false
    field.setAttribute("aria-expanded", "true")
    field.removeAttribute("aria-activedescendant")
    say(`${count} to choose from`)
  }
  const soon = () => { clearTimeout(due); due = setTimeout(offer, 150) }
  function recent() { // of this tab alone, which forgets them when it is closed
    const links = seen().filter(([href]) => href !== location.href).map(([href, title], at) =>
      Object.assign(document.createElement("a"), { href, id: `hit-${at + 1}`, textContent: title, tabIndex: -1, role: "option", ariaSelected: "false" }))
    const list = Object.assign(document.createElement("div"), { id: "found", className: "offers hits", role: "listbox", ariaLabel: "Lately here" })
    const group = Object.assign(document.createElement("div"), { role: "group", ariaLabel: "Lately here" })
    group.append(Object.assign(document.createElement("p"), { className: "q s", textContent: "Lately here" }), ...links)
    list.append(group)
    show([field.value, field.selectionStart], list)
  }
  function take(option) {
    if (option.href) return void (location = option.href)
    const rest = field.value.slice(field.selectionStart).trimStart(), text = option.dataset.text
    close()
    field.value = rest ? `${text.trimEnd()} ${rest}` : text
    field.setSelectionRange(text.length, text.length)
    if (text.endsWith(":")) soon()
  }
  field.addEventListener("input", (event) => { if (!event.isComposing) soon() })
  field.addEventListener("blur", close)
  field.addEventListener("keydown", (event) => {
    if (!box.hidden && (field.value !== of[0] || field.selectionStart !== of[1])) close() // it is for another text
    const list = box.hidden ? [] : options(), at = list.indexOf(chosen())
    if (event.isComposing || event.ctrlKey || event.metaKey || event.altKey) return
    if (event.key === "ArrowDown" && box.hidden) soon()
    else if (event.key === "Escape" && !box.hidden) close()
    else if (list.length && event.key === "ArrowDown") choose(list[(at + 1) % list.length])
    else if (list.length && event.key === "ArrowUp") choose(list[(at < 1 ? list.length : at) - 1])
    else if (at >= 0 && (event.key === "Enter" || event.key === "Tab" && !event.shiftKey)) take(list[at])
    else return
    event.preventDefault()
  })
  box.addEventListener("pointerdown", (event) => event.preventDefault()) // the focus stays in the field
  box.addEventListener("click", ({ target }) => {
    const option = target.closest("[role=option]")
    if (option && !option.href) take(option) // a link is followed by the browser, which knows of new tabs and windows
  })
}
const here = () => (location.pathname + location.search).replace(/^.*?\/ui(?=\/)/, "").slice(0, 2000)
const seen = () => {
  try {
    const kept = JSON.parse(sessionStorage.getItem("svc-seen"))
    return Array.isArray(kept) ? kept.filter(Array.isArray) : []
  } catch { return [] }
}
const forget = () => { try { sessionStorage.removeItem("svc-seen") } catch { /* nothing is kept */ } }
if (/\/ui\/sign-in(\/|$)/.test(location.pathname)) forget() // somebody else may sign in here
try { // a page of a thing, not of a list or of a secret
  if (/\/(entries|records|transactions|endpoints|deliveries|tenants|events)\/[^/]+/.test(location.pathname) && !/\/(secret|gone)$/.test(location.pathname)) {
    const others = seen().filter(([href]) => href !== location.href)
    sessionStorage.setItem("svc-seen", JSON.stringify([[location.href, document.title.replace(/ · [^·]*$/, "")], ...others].slice(0, 8)))
  }
} catch { /* private windows keep nothing */ }
for (const form of all("[data-offers]")) completing(form)
addEventListener("submit", ({ target }) => { if (/\/sign-out$/.test(target.action)) forget() })

// The focus: after Back it is on the link by which somebody left, and after a refused form on what is wrong.
addEventListener("click", ({ target }) => {
  const left = target.closest?.("main a[href]")?.getAttribute("href")
  if (left) history.replaceState({ left }, "")
})
const wrong = $("main [aria-invalid=true]") ?? (/[?&]refused=/.test(location.search) ? $("main [role=alert]") : null)
if (wrong) {
  if (!wrong.matches("input, select, textarea")) wrong.tabIndex = -1
  wrong.focus()
} else if (performance.getEntriesByType("navigation")[0]?.type === "back_forward") {
  all("main a[href]").find((link) => link.getAttribute("href") === history.state?.left)?.focus({ preventScroll: true })
}
function goInto(field) {
  field?.focus()
  field?.select()
}
addEventListener("keydown", (event) => {
  if (event.key !== "k" || !(event.ctrlKey || event.metaKey) || event.altKey || event.shiftKey || $("dialog:modal")) return
  const field = $(".find input")
  if (!field) return
  event.preventDefault()
  goInto(field)
})

// Live elements: when something changed, the page is asked for again, and those that differ are put in the place of the
// old ones: what somebody reads, selects or has scrolled stays, and so does the focus.
const FOCUSABLE = "a, button, input, select, summary, [tabindex]"
const EVERY = 1000 * Math.min(...all("[data-live]").map((element) => Number(element.dataset.live) || 5))
const ASK = Math.max(EVERY, 5000), SILENT = 12000 // without the stream; of the stream, which says each 5 s that it is there
let paused = false, wait = ASK, timer = 0, asking = false, more = false, last = Date.now(), soon = 0, answered = Date.now()
const busy = (element) => element.contains(document.activeElement) && document.activeElement.matches("input, select, textarea")
  || $(":checked", element)?.closest(".pick")
const offline = Object.assign(document.createElement("p"), { className: "note wait", id: "offline" })
function tellOffline(status) {
  if (offline.isConnected) return
  const since = `${new Date(answered + skew).toISOString().slice(11, 19)} UTC`
  offline.textContent = `${status ? `The console answers ${status}` : "Offline"}: nothing new since ${since}. Trying again.`
  $("[data-live]").before(offline)
  say(offline.textContent)
}
function tellOnline() {
  answered = Date.now()
  if (!offline.isConnected) return
  offline.remove()
  say("Up to date again")
}
async function renew() {
  if (paused || document.hidden) return
  if (asking) return void (more = true) // what is being read may be from before the change
  asking = true
  last = Date.now()
  let status = 0
  try {
    const here = new URL(location)
    here.searchParams.delete("refused") // which tells of a form
    const answer = await fetch(here, { headers: { accept: "text/html" }, signal: AbortSignal.timeout(15000) })
    if (answer.redirected || answer.status === 401) return location.reload() // the session is over
    status = answer.status
    if (!answer.ok) throw new Error(status)
    const fresh = new DOMParser().parseFromString(await answer.text(), "text/html")
    setClock(fresh.documentElement.dataset.now)
    ready(fresh)
    for (const each of [document, fresh]) tick(each)
    for (const old of all("[data-live]")) {
      const element = fresh.getElementById(old.id)
      if (!element || busy(old)) continue
      const open = all("details", old).map((details) => details.open)
      all("details", element).forEach((details, index) => { if (index in open) details.open = open[index] })
      if (old.isEqualNode(element)) continue
      const at = all(FOCUSABLE, old).indexOf(document.activeElement), href = document.activeElement?.getAttribute("href")
      old.replaceWith(element)
      const same = href && all("a", element).find((link) => link.getAttribute("href") === href)
      if (at >= 0) (same || all(FOCUSABLE, element)[at])?.focus({ preventScroll: true })
    }
    wait = ASK
    tellOnline()
  } catch {
    tellOffline(status >= 400 && status)
    clearTimeout(soon)
    soon = setTimeout(renew, wait) // also if the stream is there, which tells of changes alone
    wait = Math.min(wait * 2, 15000)
  } finally {
    asking = false
    if (more) changed()
    more = false
  }
}
function later() {
  clearTimeout(timer)
  timer = setTimeout(async () => { await renew(); later() }, wait)
}
function changed() { // however often something changes, the page is asked for at its own pace
  clearTimeout(soon)
  soon = setTimeout(renew, Math.max(0, last + EVERY - Date.now()))
}
function pause(button) {
  paused = !paused
  button.setAttribute("aria-pressed", paused)
  say(paused ? "Paused" : "Following")
  if (!paused) renew()
}
let stream = null, heard = 0
const hear = () => { heard = Date.now() }
function listen() { // while the page is seen: a browser has six connections of HTTP/1.1 to a host, for all tabs together
  if (document.hidden) return stream?.close()
  if (!html.dataset.stream || stream && stream.readyState !== EventSource.CLOSED) return
  stream = new EventSource(html.dataset.stream)
  hear()
  for (const name of ["open", "alive", "following", "changed"]) stream.addEventListener(name, hear)
  stream.addEventListener("open", () => clearTimeout(timer))
  stream.addEventListener("following", changed) // what changed before it, nobody told
  stream.addEventListener("changed", changed)
  stream.addEventListener("error", lost) // the browser connects again, and until then the page is asked for as before
}
function lost() {
  renew()
  later()
}
function watch() { // a cut that no packet tells of; and an answer in error, after which the browser tries no more
  if (stream?.readyState === EventSource.OPEN && Date.now() - heard > SILENT) {
    stream.close()
    lost()
  }
  listen()
}
if ($("[data-live]")) {
  later()
  addEventListener("visibilitychange", () => { renew(); listen() })
  for (const name of ["online", "offline"]) addEventListener(name, lost)
  setInterval(watch, 4000)
  listen()
}

// Keys: / find, q question, g and a letter, j k Enter, x select, . actions, r again, ? help. Their switch is kept in this browser.
const kept = { get: () => { try { return localStorage.getItem("svc-keys") } catch { return null } },
  set: (value) => { try { localStorage.setItem("svc-keys", value) } catch { /* private windows keep nothing */ } } }
let keys = kept.get() !== "off", going = 0
function switchKeys(on) {
  keys = on
  kept.set(on ? "on" : "off")
}
for (const box of all("[data-keys]")) box.checked = keys
const places = Object.fromEntries(all("#nav [data-key]").map((link) => [link.dataset.key, link.href]))
function step(by) {
  const rows = all(".rows tbody tr:has(a), .txs > li:has(a), .life > article:has(a), .empty > p:has(a)"), at = rows.findIndex((row) => row.classList.contains("at"))
  const next = rows[Math.max(0, Math.min(rows.length - 1, at + by))]
  rows[at]?.classList.remove("at")
  next?.classList.add("at")
  $("a", next ?? document.body)?.focus()
}
const acts = {
  g: () => { going = Date.now() },
  "/": () => $(".find input, .ask input, input[type=search]")?.focus(),
  q: () => goInto($("main .ask input")),
  "?": () => $("#keys")?.showModal(),
  j: () => step(1),
  k: () => step(-1),
  x: () => $(".rows tr.at [type=checkbox]")?.click(),
  ".": () => $(".pick:has(tbody :checked) .bulk button, .head .acts :is(a, button, select):not([hidden])")?.focus(),
  r: () => location.reload(),
}
addEventListener("keydown", (event) => {
  const { key, target } = event
  if (!keys || event.ctrlKey || event.metaKey || event.altKey || event.isComposing) return
  if (target.matches?.("input:not([type=checkbox]), select, textarea, [contenteditable]") || $("dialog:modal")) return
  if (Date.now() - going < 1200 && places[key]) return void (location = places[key])
  going = 0
  if (!Object.hasOwn(acts, key)) return
  event.preventDefault()
  acts[key]()
})
