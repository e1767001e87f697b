/** The console with much to show, in a real browser: a thread of 2,000 messages. How long its tasks take is printed, and asserted nowhere. */
import assert from "node:assert/strict"
import { test } from "node:test"
import { fileURLToPath } from "node:url"
import { skip as noProc } from "@superstep/toolkit/testing/processes"
import { until } from "@superstep/toolkit/testing/until"
import type { Page } from "playwright-core"
import { startGraphServer } from "../testing/graph-server.js"
import { keepScreenshot, noChromium, openConsole } from "./console-page.js"
import { keyPressMs, longTasksMs } from "./measured.js"
import { composer, openThread, say } from "./thread-page.js"

const config = fileURLToPath(new URL("../../graphs/console.json", import.meta.url))
const messages = 2000

/** What people and models write: prose, a list, code, a table. */
const answerOf = (number: number): string =>
  [
    `Answer **${number}**: the order was sent, see [its page](https://example.com/orders/${number}).`,
    "- packed\n- sent\n- arrived",
    '```ts\nconst order = await orders.find({ number: 7, state: "sent" })\nif (!order) throw new Error("there is none")\n```',
    "| item | pieces |\n|---|---|\n| lamp | 2 |\n| shade | 4 |",
  ]
    .slice(0, 1 + (number % 4))
    .join("\n\n")

const messageOf = (_: unknown, place: number) =>
  place % 2 === 0
    ? { type: "human", content: `Where is order ${place / 2}?`, id: `message-${place}` }
    : { type: "ai", content: answerOf((place - 1) / 2), id: `message-${place}` }

/** Scrolls by a screen at a time, one a frame, as a wheel does. */
const wheelTo = (end: "top" | "bottom") => `new Promise((resolve) => {
  const box = document.querySelector(".chat-scroller")
  const step = () => {
    const before = box.scrollTop
    box.scrollBy(0, ${end === "top" ? "-" : ""}box.clientHeight)
    if (box.scrollTop === before) resolve(box.scrollTop)
    else requestAnimationFrame(step)
  }
  step()
})`

const told = (ms: readonly number[]): string => (ms.length === 0 ? "none" : `${ms.join(", ")} ms`)

test("the console with much to show", { skip: noChromium || noProc }, async (t) => {
  const env = { SUPERSTEP_CONFIG: config, SUPERSTEP_DEV: "1" }
  await using server = await startGraphServer(env, { hasUnitToken: false })
  const { client } = server
  await using browser = await openConsole(`${server.url}/studio/`)
  t.afterEach(() => browser.closePages())
  const measure = async (what: string, page: Page, work: () => Promise<unknown>) =>
    t.diagnostic(`tasks over 50 ms while ${what}: ${told(await longTasksMs(page, work))}`)

  await t.test(`a thread of ${messages} messages is read, written in and goes on`, async () => {
    const { thread_id } = await client.threads.create({ graphId: "talk" })
    await client.threads.updateState(thread_id, { values: { messages: Array.from({ length: messages }, messageOf) } })
    const page = await browser.open("threads")
    await measure("the thread was opened", page, async () => {
      await page.locator(`a.threads-row[href*="${thread_id}"]`).first().click()
      await page
        .getByRole("log")
        .getByText(`Where is order ${messages / 2 - 1}?`)
        .waitFor()
    })

    await measure("2,000 messages were scrolled to the first", page, async () => {
      await until(
        async () => {
          await page.evaluate(wheelTo("top"))
          return page.evaluate(`document.querySelector(".message")?.textContent.includes("Where is order 0?")`)
        },
        { what: "the first message is shown" },
      )
    })
    await measure("they were scrolled to the last", page, () => page.evaluate(wheelTo("bottom")))
    await composer(page).focus()
    t.diagnostic(`from a key to its frame: ${(await keyPressMs(page, "a", 20)).join(", ")} ms`)
    await measure("a message was sent and answered", page, async () => {
      await say(page, "thanks")
      // The locators of the browser's driver would look through all messages again and again, as tasks of the page.
      const isSaid = () =>
        page.evaluate("[...document.querySelectorAll('.message-body')].at(-1).textContent.includes('You said thanks.')")
      await until(isSaid, { what: "the answer is shown" })
    })
    await keepScreenshot(page, "thread-long")
    const { values } = await client.threads.getState<{ messages: unknown[] }>(thread_id)
    assert.equal(values.messages.length, messages + 2)
    const again = await openThread(browser, thread_id)
    await again.getByRole("log").getByText("You said thanks.").waitFor()
  })

  assert.deepEqual(browser.problems, [])
})
