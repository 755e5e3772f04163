// The histogram: a range of bars, dragged or chosen by keys, leads to the list of that time. Without this file each bar
// is a link, and the fields of a date and a time choose any other range.
const exact = (time) => new Date(time).toISOString().replace(/\.\d+Z$/, "Z")

for (const brush of document.querySelectorAll("[data-brush]")) {
  const drawing = brush.previousElementSibling, counts = brush.dataset.counts.split(",").map(Number)
  const last = counts.length - 1, begin = Date.parse(brush.dataset.begin), step = 1000 * brush.dataset.step
  const chosen = drawing.appendChild(document.createElementNS(drawing.namespaceURI, "rect"))
  const width = drawing.viewBox.baseVal.width / counts.length
  let anchor = last, at = last, start = null
  for (const [name, value] of [["class", "chosen"], ["height", 100], ["width", 0]]) chosen.setAttribute(name, value)
  for (const [name, value] of [["tabindex", 0], ["role", "slider"], ["aria-label", "Time of the entries"],
    ["aria-valuemin", 0], ["aria-valuemax", last]]) brush.setAttribute(name, value)

  const ends = () => [Math.min(anchor, at), Math.max(anchor, at)]
  const bounded = (index) => Math.max(0, Math.min(last, index))
  function show() {
    const [from, to] = ends(), sum = counts.slice(from, to + 1).reduce((one, other) => one + other)
    chosen.setAttribute("x", from * width)
    chosen.setAttribute("width", (to - from + 1) * width)
    brush.setAttribute("aria-valuenow", at)
    brush.setAttribute("aria-valuetext", `${exact(begin + from * step)} to ${exact(begin + (to + 1) * step)}, ${sum} entries`)
  }
  function clear() {
    start = null
    anchor = at
    chosen.setAttribute("width", 0)
  }
  function open() { // the ends of the whole are those that were asked for, if any were
    const [from, to] = ends(), { since, until } = brush.dataset, address = new URL(brush.dataset.brush, location)
    address.searchParams.set("since", from === 0 && since || exact(begin + from * step))
    address.searchParams.set("until", to === last && until || exact(begin + (to + 1) * step))
    location = address
  }
  function under(event) {
    const box = drawing.getBoundingClientRect()
    return bounded(Math.floor((event.clientX - box.left) / box.width * counts.length))
  }
  show()
  clear()
  drawing.addEventListener("dragstart", (event) => event.preventDefault()) // of a bar, which is a link
  drawing.addEventListener("pointerdown", (event) => {
    if (event.button !== 0 || event.ctrlKey || event.metaKey || event.shiftKey) return
    start = event.clientX
    anchor = at = under(event)
  })
  drawing.addEventListener("pointermove", (event) => {
    if (!(event.buttons & 1)) start = null // it was let go outside
    if (start === null || !drawing.hasPointerCapture(event.pointerId) && Math.abs(event.clientX - start) < 6) return
    drawing.setPointerCapture(event.pointerId)
    at = under(event)
    show()
  })
  drawing.addEventListener("pointerup", (event) => {
    const isChosen = start !== null // else Escape took it back
    start = null
    if (!drawing.hasPointerCapture(event.pointerId)) return
    const stop = (click) => click.preventDefault() // of the bar on which the drag ends
    drawing.addEventListener("click", stop, { capture: true })
    setTimeout(() => drawing.removeEventListener("click", stop, { capture: true }))
    if (isChosen) open()
  })
  drawing.addEventListener("pointercancel", clear)
  addEventListener("pageshow", clear) // a page that the browser has kept, on the way back
  addEventListener("keydown", (event) => { if (event.key === "Escape" && start !== null) clear() })
  brush.addEventListener("focus", show)
  brush.addEventListener("blur", clear)
  brush.addEventListener("keydown", (event) => {
    const to = { ArrowLeft: at - 1, ArrowDown: at - 1, ArrowRight: at + 1, ArrowUp: at + 1, Home: 0, End: last }[event.key]
    if (event.ctrlKey || event.metaKey || event.altKey) return
    if (event.key === "Enter") open()
    else if (to === undefined) return
    else {
      at = bounded(to)
      if (!event.shiftKey) anchor = at
      show()
    }
    event.preventDefault()
  })
}
