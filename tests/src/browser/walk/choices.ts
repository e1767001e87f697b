/** What can be pressed or filled in on a page, found by its role, and which of it a step presses. */
import type { Locator, Page } from "playwright-core"
import type { Dice } from "./dice.js"

export interface Choice {
  readonly role: string
  readonly name: string
  /** What is around it: the text of its row or section, which says whose button it is. */
  readonly around: string
  /** Whether it is in the navigation, which is on each page. */
  readonly isLead: boolean
}

/** In a page: the role and the name of an element, and what is around it. */
const describe = `(one) => {
  const roleOf = () => one.getAttribute("role") ?? { A: "link", BUTTON: "button", SELECT: "combobox", SUMMARY: "summary" }[one.tagName] ?? one.type ?? "textbox"
  const labelled = one.getAttribute("aria-labelledby")?.split(" ").map((id) => document.getElementById(id)?.textContent).join(" ")
  const text = (value) => (value ?? "").trim().replace(/\\s+/g, " ")
  const name = one.getAttribute("aria-label") ?? one.labels?.[0]?.textContent ?? labelled ?? (one.textContent || one.placeholder)
  return { role: roleOf(), name: text(name).slice(0, 60), around: text(one.closest("tr, li, [role=row], section")?.textContent).slice(0, 300), isLead: one.closest("nav, .bar") !== null }
}`

/** Marks what can be pressed, each with its number. Only what is in the dialog or menu, if one is open. */
const candidates = `(() => {
  for (const one of document.querySelectorAll("[data-walk]")) one.removeAttribute("data-walk")
  const overlay = "[role=dialog], [role=menu], [role=listbox].popover"
  const over = [...document.querySelectorAll(overlay)].filter((one) => !one.parentElement.closest(overlay)).at(-1)
  const found = []
  for (const one of (over ?? document).querySelectorAll("a[href], button, select, input, textarea, summary, [contenteditable=true], [role=tab], [role=option], [role=row], [role=menuitem], [role=switch]")) {
    // The box of a checkbox is its label's; the input itself has no size.
    const seen = one.matches("input") ? (one.closest("label, [role=group]") ?? one) : one
    const { left, width, height } = seen.getBoundingClientRect()
    const isSeen = width > 1 && height > 1 && left >= 0 && left < innerWidth && one.checkVisibility({ visibilityProperty: true })
    if (!isSeen || one.target === "_blank" || one.type === "file" || one.disabled || one.getAttribute("aria-disabled") === "true") continue
    const pressed = one.matches("[type=checkbox], [type=radio]") ? seen : one
    if (pressed.hasAttribute("data-walk")) continue
    pressed.setAttribute("data-walk", found.length)
    found.push((${describe})(one))
  }
  return found
})()`

const focused = `document.activeElement?.closest("body *") && (${describe})(document.activeElement)`

/** What the keyboard would press. */
export const focusedChoice = async (page: Page): Promise<Choice | undefined> =>
  (await page.evaluate<Choice | null>(focused)) ?? undefined

/** What buttons are called that change something for good. */
const changes =
  /pause|resume|restart|redeploy|roll back|new revision|interrupt|promote|abort|deploy|delete|remove|revoke|withdraw|^end$|stop|cancel run|run now|again|approve|reject|create|invite|save|^set$|^put$/i

/** How often each kind is pressed: else the rows of a long list would hide the buttons, and links would lead away before a page is used. */
const weights = { change: 3, field: 3, button: 1, link: 1 } as const
type Kind = keyof typeof weights

const kindOf = ({ role, name, isLead }: Choice): Kind => {
  if (isLead) return "link"
  if (role === "button" || role === "menuitem") return changes.test(name) ? "change" : "button"
  return /^(link|row|tab|option|summary)$/.test(role) ? "link" : "field"
}

// What differs from walk to walk must not choose: ids, times, ages.
const varying =
  /\b[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}\b|\b[0-9a-f]{7,8}\b|just now|(in )?\d[\d:.,-]*( (ms|s|min|h|d)\b)?( ago)?/g

/** @returns  its place in the list; undefined when nothing may be pressed. Pure */
export function choiceOf(
  found: readonly Choice[],
  dice: Dice,
  mayPress: (choice: Choice) => boolean,
): number | undefined {
  const seen = new Map<string, number>()
  const open = found.flatMap((choice, place) => {
    const kind = kindOf(choice)
    const name = `${kind} ${choice.name.replaceAll(varying, "…")}`
    const nth = (seen.get(name) ?? 0) + 1
    seen.set(name, nth)
    return mayPress(choice) ? [{ kind, name: `${name} ${nth}`, place }] : []
  })
  const kinds = [...new Set(open.map((one) => one.kind))]
  const kind = dice.among(
    kinds,
    (one) => one,
    (one) => weights[one],
  )
  return dice.among(
    open.filter((one) => one.kind === kind),
    ({ name }) => name,
  )?.place
}

// A page draws what it has read in parts. One that never rests, such as a running log, is pressed as it is.
const [pauseMs, settleMs] = [100, 2000]

/** What the page offers, as soon as it has offered the same for a moment. */
export async function settledChoices(page: Page): Promise<readonly Choice[]> {
  let last = ""
  for (let waitedMs = 0; ; waitedMs += pauseMs) {
    const found = await page.evaluate<Choice[]>(candidates)
    const text = JSON.stringify(found.map(({ role, name }) => [role, name]))
    if (text === last || waitedMs >= settleMs) return found
    last = text
    await page.waitForTimeout(pauseMs)
  }
}

export const locatorOf = (page: Page, place: number): Locator => page.locator(`[data-walk="${place}"]`)

const words = ["hello", "ask", "fail", "refund", "{}", "user:ann", "ä<b>", "1234567890", ""]
/** What a field is for, by its label: a form of which no field fits is never sent. */
const fitting: readonly (readonly [label: RegExp, word: string])[] = [
  [/e-mail/i, "person@example.com"],
  [/schedule/i, "0 7 * * *"],
  [/days|replicas|memory|cpu|scale/i, "2"],
  [/repository/i, "file:///no/such/repository"],
  [/host/i, "github.com"],
  [/namespace/i, "people / bob"],
  [/metadata/i, "user:ann"],
  [/name|key|token|value/i, "walked"],
]

export function wordFor(label: string, dice: Dice): string {
  const [, confirmation] = /^Write (\S+) to confirm/.exec(label) ?? []
  const fits = confirmation ?? fitting.find(([about]) => about.test(label))?.[1]
  if (fits !== undefined && dice.share("fits") < 0.7) return fits
  return words[dice.below(words.length, "word")] ?? ""
}

const typed = new Set(["textbox", "text", "search", "searchbox", "textarea", "password", "number", "email", "combobox"])
// What is covered by something else is not pressed: a person would not either.
const pressMs = 1500

/** @returns  what was done; undefined if it could not be done: a page may move on while it is chosen */
export async function press(
  page: Page,
  { role, name }: Choice,
  locator: Locator,
  dice: Dice,
): Promise<string | undefined> {
  try {
    if (role === "range") {
      await locator.press(dice.below(2, "arrow") === 0 ? "ArrowLeft" : "ArrowRight", { timeout: pressMs })
      return "moved"
    }
    if (role === "datetime-local") {
      await locator.fill("2026-01-31T08:00", { timeout: pressMs })
      return "set to a day"
    }
    const options = role === "combobox" ? await locator.locator("option").allTextContents() : []
    if (options.length > 0) {
      const index = dice.below(options.length, "option")
      await locator.selectOption({ index }, { timeout: pressMs })
      return `chose “${options[index]}”`
    }
    await locator.click({ timeout: pressMs })
    if (!typed.has(role)) return "pressed"
    const word = wordFor(name, dice)
    const isSent = dice.share("enter") < 0.3
    await page.keyboard.press("Control+A")
    await page.keyboard.insertText(word)
    if (isSent) await page.keyboard.press("Enter")
    return `typed “${word}”${isSent ? " and Enter" : ""}`
  } catch (error) {
    if (
      /Timeout|detached|not visible|not attached|outside of the viewport|did not find some options/.test(String(error))
    )
      return undefined
    throw error
  }
}
