/** What a step of the walk does with the keyboard alone. */
import type { Page } from "playwright-core"
import { type Choice, focusedChoice } from "./choices.js"
import type { Dice } from "./dice.js"

interface Hands {
  readonly page: Page
  readonly dice: Dice
  readonly mayPress: (choice: Choice) => boolean
}

/** After `g`: the keys of `console/src/layout/places.ts`, and one that leads nowhere. */
const places = [..."duaysovltrwqcienx"]
const searched = ["help", "talk", "crons", "settings", "19", "zzz"]

const one = <T>(dice: Dice, choices: readonly T[], what: string): T => choices[dice.below(choices.length, what)] as T

/** Each says what it did. */
const acts: Readonly<Record<string, (hands: Hands) => Promise<string>>> = {
  tab: async ({ page, dice, mayPress }) => {
    const times = 1 + dice.below(12, "tabs")
    const key = dice.below(4, "direction") === 0 ? "Shift+Tab" : "Tab"
    for (let n = 0; n < times; n++) await page.keyboard.press(key)
    const reached = await focusedChoice(page)
    const where = `${times} × ${key} to ${reached?.role} “${reached?.name}”`
    if (!reached || !mayPress(reached)) return where
    const isToggled = /checkbox|radio|switch/.test(reached.role)
    await page.keyboard.press(isToggled ? "Space" : "Enter")
    return `${where}, ${isToggled ? "Space" : "Enter"}`
  },
  arrows: async ({ page, dice }) => {
    const key = one(dice, ["ArrowDown", "ArrowUp", "Home", "End", "PageDown"], "arrow")
    for (let n = 0; n < 3; n++) await page.keyboard.press(key)
    return `3 × ${key}`
  },
  go: async ({ page, dice }) => {
    const place = one(dice, places, "place")
    await page.keyboard.press("g")
    await page.keyboard.press(place)
    return `g ${place}`
  },
  search: async ({ page, dice }) => {
    const word = one(dice, searched, "searched")
    await page.keyboard.press("/")
    // Without a field that searches the palette opens, a moment later.
    await page.waitForTimeout(200)
    await page.keyboard.insertText(word)
    return `/ and “${word}”`
  },
  palette: async ({ page, dice }) => {
    const word = one(dice, searched, "searched")
    await page.keyboard.press("Control+k")
    await page.waitForTimeout(200)
    await page.keyboard.insertText(word)
    if (dice.below(2, "chosen") === 0) return `Ctrl+K and “${word}”`
    await page.keyboard.press("ArrowDown")
    await page.keyboard.press("Enter")
    return `Ctrl+K, “${word}”, Enter`
  },
  help: async ({ page }) => {
    await page.keyboard.press("?")
    return "?"
  },
  escape: async ({ page }) => {
    await page.keyboard.press("Escape")
    return "Escape"
  },
}

/** @returns  what was done */
export async function typeKeys(hands: Hands): Promise<string> {
  const kind = hands.dice.among(Object.keys(acts), (name) => `keyboard ${name}`) ?? "escape"
  return (await acts[kind]?.(hands)) ?? ""
}
