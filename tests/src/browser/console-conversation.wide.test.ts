/** What a conversation of the console remembers and lets people change, in a real browser, on an agent server of `superstep dev`. */
import assert from "node:assert/strict"
import { test } from "node:test"
import { fileURLToPath } from "node:url"
import { fieldsOf } from "@superstep/toolkit/testing/fields-of"
import { skip as noProc } from "@superstep/toolkit/testing/processes"
import { until } from "@superstep/toolkit/testing/until"
import type { Page } from "playwright-core"
import { startGraphServer } from "../testing/graph-server.js"
import { accessibilityProblems, holdRequests, noChromium, openConsole } from "./console-page.js"
import { checkpoints, openThread, say, untilConversation, untilNode } from "./thread-page.js"

const config = fileURLToPath(new URL("../../graphs/console.json", import.meta.url))
const skip = noChromium || noProc

const exchanges = (page: Page) => page.getByRole("article", { name: "Question and answer" })
const asked = (content: unknown) => ({ input: { messages: [{ role: "user", content }] } })

const dot = Buffer.from(
  "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==",
  "base64",
)

const readLines = `[...document.querySelectorAll(".loading-line")].map((line) =>
  getComputedStyle(line).opacity === "1" && line.getBoundingClientRect().width > 100)`

/** The page reads files only after `releaseFiles()`, as from a slow disk. */
const holdFiles = `{
  const isReleased = new Promise((resolve) => { globalThis.releaseFiles = resolve })
  const read = File.prototype.arrayBuffer
  File.prototype.arrayBuffer = async function () { await isReleased; return read.call(this) }
}`

test("a conversation on the console", { skip }, async (t) => {
  const env = { SUPERSTEP_CONFIG: config, SUPERSTEP_DEV: "1" }
  await using server = await startGraphServer(env, { hasUnitToken: false })
  const { client } = server
  await using browser = await openConsole(`${server.url}/studio/`)
  t.afterEach(() => browser.closePages())
  // A server that has just started computes them, which takes long on a busy machine; the pages wait for them.
  await client.assistants.getSchemas("talk")
  await client.assistants.getSchemas("letter")
  const newThread = (graphId: string) => client.threads.create({ graphId })

  await t.test("a question stays with its answer and its run, also for those who come later", async () => {
    const thread = await newThread("talk")
    const page = await openThread(browser, thread.thread_id)
    await say(page, "ask")
    await page.getByRole("textbox", { name: "Your answer" }).fill("gladly")
    await page.getByRole("button", { name: "Answer", exact: true }).click()

    await untilConversation(page, ["You: ask", "Agent: You answered gladly."])
    await exchanges(page).getByText("go on?").waitFor()
    await exchanges(page).getByText("gladly", { exact: true }).waitFor()
    await say(page, "thanks")
    await untilConversation(page, ["You: ask", "Agent: You answered gladly.", "You: thanks", "Agent: You said thanks."])
    await page.reload()
    await exchanges(page).getByText("gladly", { exact: true }).waitFor()
    assert.equal(await exchanges(page).count(), 1)
    const order = await page
      .locator("article")
      .evaluateAll((all) => all.map(({ className }) => className.split(" ")[0]))
    assert.deepEqual(order, ["message", "exchange", "message", "message", "message"])
    assert.deepEqual(await accessibilityProblems(page), [])
    await exchanges(page).getByRole("link").click()
    await page.getByRole("heading", { name: /^Run / }).waitFor()
    const runs = await client.runs.list(thread.thread_id)
    assert.ok(page.url().endsWith(`/runs/${runs[1]?.run_id}`))
  })

  await t.test(
    "a checkpoint of the past shows its question, its graph, and the way back; a message goes on from there",
    async () => {
      const thread = await newThread("talk")
      await client.runs.wait(thread.thread_id, "talk", asked("ask"))
      await client.runs.wait(thread.thread_id, "talk", { command: { resume: "gladly" } })
      const page = await openThread(browser, thread.thread_id)
      await untilConversation(page, ["You: ask", "Agent: You answered gladly."])

      await checkpoints(page).nth(1).click()
      await page.getByText("The thread as it was at step 0").waitFor()
      await untilConversation(page, ["You: ask"])
      await exchanges(page).getByText("Not answered at this point.").waitFor()
      await page.getByText("as it was at step 0", { exact: true }).waitFor()
      await untilNode(page, "answer", "next")
      assert.deepEqual(await accessibilityProblems(page), [])
      await page.getByRole("button", { name: "Back to now" }).click()
      await exchanges(page).getByText("gladly", { exact: true }).waitFor()

      await checkpoints(page).nth(1).click()
      await page.getByText("The thread as it was at step 0").waitFor()
      await say(page, "never mind")
      await untilConversation(page, ["You: ask", "You: never mind", "Agent: You said never mind."])
      await exchanges(page).getByText("The thread went on without an answer.").waitFor()
      assert.doesNotMatch(page.url(), /checkpoint=/)
    },
  )

  await t.test("what is refused stays as it was typed, with the reason", async () => {
    const thread = await newThread("talk")
    for (const content of ["one", "ask"]) await client.runs.wait(thread.thread_id, "talk", asked(content))
    const page = await openThread(browser, thread.thread_id)
    const json = { detail: "the thread is busy", code: "conflict" }
    await page.route(/\/runs$/, (route) => route.fulfill({ status: 409, json }))
    const [answer, message] = ["Your answer", "Text of the message"].map((name) => page.getByRole("textbox", { name }))
    await answer?.fill("gladly")
    await page.getByRole("button", { name: "Answer", exact: true }).click()
    await page.getByRole("alert").getByText("the thread is busy").waitFor()
    await page.getByRole("button", { name: "Edit the message" }).first().click()
    await message?.fill("two")
    await page.getByRole("button", { name: "Send again" }).click()
    await page.getByRole("form", { name: "Edit the message" }).getByText("the thread is busy").waitFor()

    assert.deepEqual([await answer?.inputValue(), await message?.inputValue()], ["gladly", "two"])
    await page.unrouteAll()
    await page.getByRole("button", { name: "Answer", exact: true }).click()
    await exchanges(page).getByText("gladly", { exact: true }).waitFor()
  })

  await t.test("an answer is refused when its question was answered and another one is asked", async () => {
    const { thread_id: id } = await newThread("twice")
    await client.runs.wait(id, "twice", { input: { out: [] } })
    const pages = [await browser.open("approvals"), await browser.open(`threads/${id}`)]
    for (const page of pages) await page.getByText("first?").first().waitFor()
    const releases = await Promise.all(pages.map((page) => holdRequests(page, /\/threads\/search|\/history/)))
    await client.runs.wait(id, "twice", { command: { resume: "one" } })

    for (const page of pages) {
      await page.getByRole("textbox", { name: "Your answer" }).fill("meant for the first")
      await page.getByRole("button", { name: "Answer", exact: true }).click()
      await page.getByRole("alert").getByText("It asks something else now").waitFor()
    }
    for (const release of releases) release()
    for (const page of pages) await page.getByText("second?").first().waitFor()
    assert.equal(await pages[1]?.getByRole("textbox", { name: "Your answer" }).inputValue(), "")
    assert.equal((await client.runs.list(id)).length, 2)
  })

  await t.test("a message is edited and sent again in place, and its versions can be switched", async () => {
    const thread = await newThread("talk")
    for (const content of ["one", "two"]) await client.runs.wait(thread.thread_id, "talk", asked(content))
    const page = await openThread(browser, thread.thread_id)
    const before = ["You: one", "Agent: You said one.", "You: two", "Agent: You said two."]
    await untilConversation(page, before)

    await page.getByRole("button", { name: "Edit the message" }).first().press("Enter")
    await page.getByRole("textbox", { name: "Text of the message" }).press("Escape")
    await until(async () => (await page.locator(":focus").getAttribute("aria-label")) === "Edit the message", {
      what: "who has left the editor is where it was opened",
    })
    await page.getByRole("button", { name: "Edit the message" }).nth(1).click()
    await page.getByRole("textbox", { name: "Text of the message" }).fill("three")
    assert.deepEqual(await accessibilityProblems(page), [])
    await page.getByRole("button", { name: "Send again" }).press("Enter")
    const edited = ["You: one", "Agent: You said one.", "You: three", "Agent: You said three."]
    await untilConversation(page, edited)
    await page.getByRole("status", { name: "Version 2 of 2" }).waitFor()
    const { values } = await client.threads.getState<{ messages: { content: string }[] }>(thread.thread_id)
    assert.deepEqual(fieldsOf(values.messages, "content"), ["one", "You said one.", "three", "You said three."])

    await page.getByRole("button", { name: "Earlier version" }).press("Enter")
    await untilConversation(page, before)
    await page.getByText(/^Another branch/).waitFor()
    await say(page, "more")
    await untilConversation(page, [...before, "You: more", "Agent: You said more."])
    await page.getByRole("button", { name: "Later version" }).click()
    await untilConversation(page, edited)

    // The first message of a thread has nothing before it.
    await page.getByRole("button", { name: "Back to now" }).click()
    await untilConversation(page, [...before, "You: more", "Agent: You said more."])
    await page.getByRole("button", { name: "Edit the message" }).first().click()
    await page.getByRole("textbox", { name: "Text of the message" }).fill("zero")
    await page.getByRole("button", { name: "Send again" }).click()
    await untilConversation(page, ["You: zero", "Agent: You said zero."])
    await page.getByRole("button", { name: "Earlier version" }).click()
    await untilConversation(page, [...before, "You: more", "Agent: You said more."])
  })

  await t.test("a breakpoint stops runs before its node, is remembered, and lets them continue", async () => {
    const thread = await newThread("letter")
    const page = await openThread(browser, thread.thread_id)
    const breakpoints = (words: string) => page.getByRole("button", { name: `Breakpoints of send: ${words}` })
    await breakpoints("none").focus()
    await page.keyboard.press("Enter")
    await page.getByRole("menuitemcheckbox", { name: "Stop before it" }).waitFor()
    await page.keyboard.press("Enter")
    await page.keyboard.press("Escape")
    await breakpoints("before").waitFor()
    await page.reload()
    await breakpoints("before").waitFor()

    await say(page, "rain")
    await page.getByText("Stopped at a breakpoint, before").waitFor()
    await untilNode(page, "send", "waiting")
    await untilConversation(page, ["You: rain", "Agent: A plain draft about rain."])
    assert.deepEqual(await accessibilityProblems(page), [])
    await page.route(/\/runs$/, (route) => route.fulfill({ status: 409, json: { detail: "the thread is busy" } }))
    await page.getByRole("button", { name: "Continue" }).click()
    await page.getByRole("alert").getByText("the thread is busy").waitFor()
    await page.unrouteAll()
    await page.getByRole("button", { name: "Continue" }).click()

    await untilConversation(page, ["You: rain", "Agent: A plain draft about rain.", "Agent: Sent."])
    await untilNode(page, "send", "done")
    await page.getByRole("button", { name: "Remove the breakpoint before send" }).click()
    await breakpoints("none").waitFor()
    await say(page, "snow")
    await page.getByText("Sent.").nth(1).waitFor()
  })

  await t.test("the context is set beside the chat, remembered for the thread, and taken back", async () => {
    const thread = await newThread("letter")
    const page = await openThread(browser, thread.thread_id)
    await page.locator("summary", { hasText: "Configuration" }).click()
    await page.getByRole("textbox", { name: "tone" }).fill("warm")
    assert.deepEqual(await accessibilityProblems(page), [])

    await say(page, "rain")
    await untilConversation(page, ["You: rain", "Agent: A warm draft about rain.", "Agent: Sent."])
    // It may have keys, which must not outlast the tab.
    assert.doesNotMatch(await page.evaluate<string>("JSON.stringify(localStorage)"), /warm/)
    await page.reload()
    await page.getByText("changed", { exact: true }).waitFor()
    await page.locator("summary", { hasText: "Configuration" }).click()
    assert.equal(await page.getByRole("textbox", { name: "tone" }).inputValue(), "warm")
    await page.getByRole("button", { name: "Use those of the assistant" }).click()
    await say(page, "snow")

    await page.getByText("A plain draft about snow.").waitFor()
    const other = await openThread(browser, (await newThread("letter")).thread_id)
    assert.equal(await other.getByText("changed", { exact: true }).count(), 0)
  })

  await t.test("images and files go with a message, and are shown in it", async () => {
    const thread = await newThread("letter")
    const page = await openThread(browser, thread.thread_id)
    await page.locator("input[type=file]").setInputFiles([
      { name: "dot.png", mimeType: "image/png", buffer: dot },
      { name: "unwanted.txt", mimeType: "text/plain", buffer: Buffer.from("no") },
      { name: "table.csv", mimeType: "text/csv", buffer: Buffer.from("a,b") },
    ])
    await page.getByRole("button", { name: "Remove unwanted.txt" }).click()
    await until(async () => (await page.locator(".attached-file").count()) === 2, { what: "two files are attached" })
    assert.deepEqual(await accessibilityProblems(page), [])

    await say(page, "this")

    await page.getByRole("log").getByText("A plain draft about this with 2 files.").waitFor()
    await page.locator("article.message-human img").waitFor()
    await page.getByRole("link", { name: /table.csv/ }).waitFor()
    assert.equal(await page.locator(".attached-file").count(), 0)
    await page.getByRole("button", { name: "Edit the message" }).click()
    await page.getByRole("textbox", { name: "Text of the message" }).fill("that")
    await page.getByRole("button", { name: "Send again" }).click()
    await page.getByRole("log").getByText("A plain draft about that with 2 files.").waitFor()
    await page.locator("article.message-human img").waitFor()
  })

  await t.test("a message waits until its files are read, and none is lost when it cannot be sent", async () => {
    const thread = await newThread("letter")
    const page = await openThread(browser, thread.thread_id)
    const attach = (name: string) =>
      page.locator("input[type=file]").setInputFiles([{ name, mimeType: "image/png", buffer: dot }])
    const attached = (count: number) =>
      until(async () => (await page.locator(".attached-file").count()) === count, {
        what: `${count} files are attached`,
      })
    await page.evaluate(holdFiles)
    await page.getByRole("textbox", { name: "Message", exact: true }).fill("this")
    await attach("first.png")

    await page.getByRole("button", { name: "Send", exact: true, disabled: true }).focus()
    await page.getByText("The attached files are still being read.").waitFor()
    await page.getByRole("textbox", { name: "Message", exact: true }).press("Enter")
    await page.evaluate("releaseFiles()")
    await attached(1)
    assert.deepEqual(await client.runs.list(thread.thread_id), [])

    const fail = await holdRequests(page, /\/runs$/, (route) => route.abort())
    await page.getByRole("button", { name: "Send", exact: true }).click()
    await attached(0)
    await attach("second.png")
    await attached(1)
    fail()
    await attached(2)
    const names = await page.locator(".attached-file").allInnerTexts()
    assert.equal(names.map((name) => name.trim()).join(), "first.png,second.png")
  })

  await t.test("a thread that loads looks like loading, not like an empty one", async () => {
    const thread = await newThread("talk")
    await client.runs.wait(thread.thread_id, "talk", asked("ask"))
    const release = await holdRequests(browser.context, /\/history|\/graph\?|\/state/)
    const page = await openThread(browser, thread.thread_id)

    for (const what of ["the conversation", "the graph", "the checkpoints"])
      await page.getByText(`Loading ${what}…`).waitFor({ state: "attached" })
    // Also for those who have asked their system for less motion, as this browser has.
    assert.deepEqual(await page.evaluate(readLines), Array(9).fill(true))
    assert.equal(await page.getByText(/Nothing has been said|No checkpoints yet/).count(), 0)
    release()

    await page.getByText("go on?").waitFor()
    await untilConversation(page, ["You: ask"])
    await browser.context.unrouteAll({ behavior: "wait" })
  })

  // A browser notes as an error that a message could not be sent, or was refused.
  const expected = /Failed to load resource: (net::ERR_FAILED$|.*status of 409)/
  const problems = browser.problems.filter((problem) => !expected.test(problem))
  assert.deepEqual(problems, [])
})
