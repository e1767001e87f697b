/** What can be pressed or filled in on a page, found by its role. */
import type { Random } from "@superstep/toolkit/testing/seeded-random"
import type { Locator, Page } from "playwright-core"

export interface Choice {
  readonly role: string
  readonly name: string
  readonly locator: Locator
}

/** What would end the walk without showing a fault (the session, its key, the deployment and its agent), and what leaves the console. */
const leftOut =
  /sign out|account and workspace|revoke|delete the deployment|^delete$|^pause$|documentation|skip to the content/i

/** Marks one element, chosen by two numbers from 0 up to 1. First its role: else the rows of a long list would hide the buttons. */
const mark = `(([roleAt, elementAt]) => {
  document.querySelector("[data-walk]")?.removeAttribute("data-walk")
  const over = [...document.querySelectorAll("[role=dialog], [role=menu], [role=listbox].popover")].at(-1)
  const roleOf = (one) => one.getAttribute("role") ?? { A: "link", BUTTON: "button", SELECT: "combobox", SUMMARY: "summary" }[one.tagName] ?? one.type ?? "textbox"
  const byRole = new Map()
  for (const one of (over ?? document).querySelectorAll("a[href], button, select, input, textarea, summary, [contenteditable=true], [role=tab], [role=option], [role=row], [role=menuitem], [role=switch]")) {
    const { left, top, width, height } = one.getBoundingClientRect()
    const isSeen = width > 1 && height > 1 && top + height / 2 > 0 && top + height / 2 < innerHeight && left >= 0
    if (!isSeen || one.target === "_blank" || one.disabled || one.getAttribute("aria-disabled") === "true") continue
    byRole.set(roleOf(one), [...(byRole.get(roleOf(one)) ?? []), one])
  }
  const roles = [...byRole.keys()].sort()
  if (roles.length === 0) return undefined
  const role = roles[Math.floor(roleAt * roles.length)]
  const chosen = byRole.get(role)[Math.floor(elementAt * byRole.get(role).length)]
  chosen.setAttribute("data-walk", "")
  return { role, name: (chosen.getAttribute("aria-label") ?? chosen.textContent ?? "").trim().replace(/\\s+/g, " ").slice(0, 60) }
})`

/** Only what is in the dialog or menu, if one is open. @returns  undefined when there is nothing, or nothing that the walk may press */
export async function choose(page: Page, random: Random): Promise<Choice | undefined> {
  const numbers = JSON.stringify([random.next(), random.next()])
  const found = await page.evaluate<{ role: string; name: string } | undefined>(`${mark}(${numbers})`)
  if (found === undefined || leftOut.test(found.name)) return undefined
  return { ...found, locator: page.locator("[data-walk]") }
}

const words = ["hello", "refund", "{}", "0 7 * * *", "user:ann", "ä<b>", "1234567890", ""]
const typed = new Set(["textbox", "text", "search", "textarea", "password", "number", "email"])
// What is covered by something else is not pressed: a person would not either.
const pressMs = 1500

/** @returns  whether it could be done; a page may move on while it is chosen */
export async function press(page: Page, { role, locator }: Choice, random: Random): Promise<boolean> {
  try {
    if (role === "combobox") {
      const options = await locator.locator("option").count()
      await locator.selectOption({ index: random.below(Math.max(1, options)) }, { timeout: pressMs })
    } else {
      const isBox = role === "checkbox" || role === "radio" || role === "switch"
      await locator.click({ timeout: pressMs, ...(isBox && { force: true }) })
    }
    if (!typed.has(role)) return true
    await page.keyboard.press("Control+A")
    await page.keyboard.insertText(random.pick(words))
    if (random.below(3) === 0) await page.keyboard.press("Enter")
    return true
  } catch (error) {
    if (/Timeout|detached|not visible|not attached|outside of the viewport/.test(String(error))) return false
    throw error
  }
}
