/** What is compared of a page: which parts it has, where each begins and how wide it is. Runs in the page. */

/**
 * Heights and inner parts are left out: they follow from data and fonts, which differ from run to run and from machine to machine. Lines are
 * unique, so that more rows change nothing.
 */
export const readBoxes = `[...new Set([...document.querySelectorAll(
  "h1, main .page-head, main .section, main .card, main .empty, main .problem, main .loading, main .tabs, main .filters, main .long-list")]
  .filter((one) => one.getClientRects().length > 0)
  .map((one) => {
    const { left, width } = one.getBoundingClientRect()
    const isSized = getComputedStyle(one).display !== "inline" && one.tagName !== "H1"
    const name = one.tagName.toLowerCase() + (one.classList.length > 0 ? "." + one.classList[0] : "")
    return name + " at " + Math.round(left / 8) * 8 + (isSized ? ", " + Math.round(width / 8) * 8 + " wide" : "")
  }))]`

/** Texts that are cut off by the window, or lie on one another. Must be none in any state. */
export const readFaults = `(() => {
  const faults = []
  const sideways = document.documentElement.scrollWidth - innerWidth
  if (sideways > 0) faults.push("the page scrolls sideways by " + sideways)
  const scrollsInside = (one) => {
    for (let above = one.parentElement; above; above = above.parentElement)
      if (getComputedStyle(above).overflowX !== "visible") return true
    return false
  }
  const blocks = [...document.querySelectorAll("main .page > *, main .section > *, main .page-head > *")]
    .filter((one) => one.getClientRects().length > 0 && getComputedStyle(one).position === "static")
  for (const one of blocks) {
    const box = one.getBoundingClientRect()
    if (box.right > innerWidth + 1 && !scrollsInside(one)) faults.push(one.className + " ends beside the window")
    const next = one.nextElementSibling?.getBoundingClientRect()
    if (next && next.height > 0 && box.bottom > next.top + 2 && box.right > next.left + 2 && next.top >= box.top && next.left < box.right && next.right > box.left)
      faults.push(one.className + " lies on " + one.nextElementSibling.className)
  }
  return faults
})()`
