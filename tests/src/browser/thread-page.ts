/** What a test does on the console's page of a thread. */
import { until } from "@superstep/toolkit/testing/until"
import type { Page } from "playwright-core"
import type { ConsoleBrowser } from "./console-page.js"

/** Opens a thread's page and waits until its conversation can be used. @param pages  where the agent's pages are */
export async function openThread(console: ConsoleBrowser, threadId: string, pages = ""): Promise<Page> {
  const page = await console.open(`${pages}threads/${threadId}`)
  await composer(page).waitFor()
  return page
}

export const composer = (page: Page) => page.getByRole("textbox", { name: "Message", exact: true })

/** Nothing is sent while a run is under way: its last message is shown a little before its end. */
export async function say(page: Page, text: string): Promise<void> {
  await composer(page).fill(text)
  await page.getByRole("button", { name: "Send", exact: true, disabled: false }).waitFor()
  await composer(page).press("Enter")
}

/** The messages that the page shows, as `You: hi`. */
const conversation = (page: Page): Promise<string[]> => page.evaluate<string[]>(readConversation)

const readConversation = `[...document.querySelectorAll("article.message")].map((article) =>
  ["head", "body"].map((part) => article.querySelector(".message-" + part)?.innerText.trim() ?? "").join(": "))`

export async function untilConversation(page: Page, expected: readonly string[]): Promise<void> {
  let last: string[] = []
  const isShown = async () => {
    last = await conversation(page)
    return JSON.stringify(last) === JSON.stringify(expected)
  }
  await until(isShown, { what: `the conversation is ${JSON.stringify(expected)}` }).catch((cause: unknown) => {
    throw new Error(`the page shows ${JSON.stringify(last)}`, { cause })
  })
}

/** Waits until a node of the graph has this status: quiet, next, running, done, waiting, failed. */
export const untilNode = (page: Page, id: string, status: string): Promise<void> =>
  page.locator(`[data-node="${id}"][data-status="${status}"]`).waitFor()

/** The checkpoints of the list, the newest first. */
export const checkpoints = (page: Page) => page.getByRole("listbox", { name: "Checkpoints" }).getByRole("option")

/** Replaces what the editor of a state has. */
export async function replaceState(page: Page, state: unknown): Promise<void> {
  const editor = page.getByRole("textbox", { name: "State" })
  await editor.click()
  await page.keyboard.press("ControlOrMeta+a")
  await page.keyboard.insertText(JSON.stringify(state, null, 2))
}
