// svc-pg console: conveniences only. Every page works without this file.
const $ = (selector, root = document) => root.querySelector(selector)
const all = (selector, root = document) => [...root.querySelectorAll(selector)]

// Relative times by the server's clock, so that a wrong one here does not lie.
const skew = Date.parse(document.documentElement.dataset.now) - Date.now() || 0
const units = [["day", 86400], ["hr", 3600], ["min", 60], ["sec", 1]]
function relative(then) {
  const seconds = Math.round((Date.now() + skew - then) / 1000)
  const [unit, size] = units.find(([, size]) => Math.abs(seconds) >= size) ?? units[3]
  const count = Math.floor(Math.abs(seconds) / size)
  if (unit === "sec" && count < 5) return "just now"
  const words = `${count} ${unit}${unit === "day" && count > 1 ? "s" : ""}`
  return seconds < 0 ? `in ${words}` : `${words} ago`
}
function refresh() {
  for (const time of all("time[data-rel]")) time.textContent = relative(Date.parse(time.dateTime))
  for (const time of all("time[data-left]")) {
    const left = Math.max(0, Math.round((Date.parse(time.dateTime) - Date.now() - skew) / 1000))
    time.textContent = `${Math.floor(left / 60)}:${String(left % 60).padStart(2, "0")}`
  }
}
refresh()
setInterval(refresh, $("time[data-left]") ? 1000 : 15000)

// Live announcements for copying and selecting.
const live = document.body.appendChild(Object.assign(document.createElement("p"), { className: "sr" }))
live.setAttribute("role", "status")

for (const button of all("[data-copy]")) {
  button.hidden = false
  button.addEventListener("click", async () => {
    await navigator.clipboard.writeText($(button.dataset.copy).value ?? $(button.dataset.copy).textContent)
    const use = $("use", button), before = use?.getAttribute("href")
    use?.setAttribute("href", before.replace(/#.*/, "#check"))
    live.textContent = "Copied"
    setTimeout(() => use?.setAttribute("href", before), 1500)
  })
}

for (const form of all(".pick")) {
  const boxes = all("tbody [type=checkbox]", form), every = $("thead [type=checkbox]", form)
  every?.removeAttribute("hidden")
  form.addEventListener("change", ({ target }) => {
    if (target === every) for (const box of boxes) box.checked = every.checked
    const count = boxes.filter((box) => box.checked).length
    if (every) { every.checked = count === boxes.length; every.indeterminate = count > 0 && count < boxes.length }
    live.textContent = `${count} selected`
  })
  $("[data-clear]", form)?.addEventListener("click", () => form.dispatchEvent(new Event("change")))
}
for (const link of all("dialog a[href='#main']")) link.addEventListener("click", () => link.closest("dialog").close())
for (const button of all("[data-open]")) button.addEventListener("click", (event) => {
  event.preventDefault(); $(button.dataset.open).showModal()
})

// Keys: / find, g + o a d e t, j k Enter, . actions, ? help. Off by data-keys="off".
let going = 0, at = -1
const places = Object.fromEntries(($("#nav")?.dataset.keys ?? "").split(" ").map((pair) => [pair[0], pair.slice(2)]))
addEventListener("keydown", (event) => {
  const { key, target } = event
  if (document.documentElement.dataset.keys === "off" || event.ctrlKey || event.metaKey || event.altKey) return
  if (target.matches("input:not([type=checkbox]), select, textarea") || $("dialog:modal")) return
  const rows = all(".rows tbody tr:has(a)")
  if (Date.now() - going < 1200 && places[key]) return void (location = places[key])
  going = 0
  if (key === "g") going = Date.now()
  else if (key === "/") $("input[type=search]")?.focus()
  else if (key === "?") $("#keys")?.showModal()
  else if (key === "j" || key === "k") {
    rows[at]?.classList.remove("at")
    at = Math.max(0, Math.min(rows.length - 1, at + (key === "j" ? 1 : -1)))
    rows[at]?.classList.add("at")
    $("a", rows[at])?.focus()
  } else if (key === "x") $("[type=checkbox]", rows[at])?.click()
  else return
  event.preventDefault()
})
