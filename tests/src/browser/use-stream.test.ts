/** The hook `useStream` of `@langchain/langgraph-sdk/react` in a real browser, against a real server (protocol-v2 §2.1). */

import assert from "node:assert/strict"
import { test } from "node:test"
import { fileURLToPath } from "node:url"
import { fieldsOf } from "@superstep/toolkit/testing/fields-of"
import { until } from "@superstep/toolkit/testing/until"
import { startGraphServer } from "../testing/graph-server.js"
import { type ChatPage, newGate, openChatPage, type Shown } from "./chat-page.js"
import { noChromium as skip } from "./console-page.js"
import { chromium } from "./front-ends.js"

const config = fileURLToPath(new URL("../../graphs/browser.json", import.meta.url))

const texts = ({ messages }: Shown) => messages.map(({ content }) => content)
const isSettled =
  (...expected: string[]) =>
  (shown: Shown) =>
    !shown.isLoading && JSON.stringify(texts(shown)) === JSON.stringify(expected)

const isSaid = (last: string) => (shown: Shown) => !shown.isLoading && texts(shown).at(-1) === last

const submit = (page: ChatPage, text: string, gate?: string) =>
  page.run("void chat.submit({ messages: [{ type: 'human', content: given.text }] }, given.options)", {
    text,
    options: gate === undefined ? {} : { config: { configurable: { gate } } },
  })

const runIdOf = (page: ChatPage, threadId: string | null) =>
  page.run("sessionStorage.getItem(`lg:stream:`.concat(given))", threadId) as Promise<string>

test("useStream in a browser", { skip }, async (t) => {
  await using server = await startGraphServer({ SUPERSTEP_CONFIG: config })
  await using page = await openChatPage(chromium, server)
  const { client } = server

  await t.test("shows an answer word by word, and the thread's state when it is whole", async () => {
    const gate = newGate()
    await submit(page, "hello", gate.path)
    await page.shows("the first words", (shown) => shown.isLoading && texts(shown).at(-1) === "You said ")
    gate.open()

    const { threadId, messages } = await page.shows("the whole answer", isSettled("hello", "You said hello."))

    const { values } = await client.threads.getState<{ messages: { id: string }[] }>(threadId ?? "")
    assert.deepEqual(fieldsOf(messages, "id"), fieldsOf(values.messages, "id"))
  })

  await t.test("stops a run, which is then interrupted on the server too", async () => {
    await submit(page, "long", newGate().path)
    const { threadId } = await page.shows("the first words", (shown) => texts(shown).at(-1) === "You said ")
    const runId = await runIdOf(page, threadId)

    await page.run("chat.stop()")

    await page.shows("that it has stopped", ({ isLoading }) => !isLoading)
    await until(async () => (await client.runs.get(threadId ?? "", runId)).status === "interrupted", {
      what: "the run is interrupted",
    })
  })

  await t.test("finds a run again after a reload in the middle of it", async () => {
    const gate = newGate()
    await submit(page, "again", gate.path)
    const isBegun = (shown: Shown) => texts(shown).slice(-2).join() === "again,You said "
    const { threadId } = await page.shows("the first words", isBegun)
    const runId = await runIdOf(page, threadId)

    await page.reload()
    await page.shows("the same words", (shown) => shown.isLoading && isBegun(shown))
    gate.open()

    const { messages } = await page.shows("the whole answer", isSaid("You said again."))
    assert.equal(new Set(messages.map(({ id }) => id)).size, messages.length)
    assert.equal((await client.runs.get(threadId ?? "", runId)).status, "success")
    assert.equal(await runIdOf(page, threadId), null)
  })

  await t.test("edits a message, and keeps what was there as a branch", async () => {
    const before = await page.shows("the conversation", ({ isLoading, messages }) => !isLoading && messages.length > 0)

    await page.run(
      "void chat.submit({ messages: [{ type: 'human', content: 'edited' }] }, { checkpoint: chat.getMessagesMetadata(chat.messages[0]).firstSeenState.parent_checkpoint })",
    )

    const edited = await page.shows("the other answer", isSettled("edited", "You said edited."))
    const { branch, branchOptions = [] } = edited.messages[0] ?? {}
    assert.equal(branchOptions.length, 2)
    const other = branchOptions.find((option) => option !== branch)
    await page.run("chat.setBranch(given)", other)
    await page.shows("the first branch", (shown) => texts(shown).join() === texts(before).join())
    await page.run("chat.setBranch(given)", branch)
    await page.shows("the second branch", isSettled("edited", "You said edited."))
  })

  await t.test("shows what an interrupt asks, and goes on with the answer", async () => {
    await submit(page, "ask")
    await page.shows("the question", ({ isLoading, interrupt }) => !isLoading && interrupt !== undefined)
    const { interrupt } = await page.shows("the question", ({ isLoading }) => !isLoading)
    assert.deepEqual(interrupt, { question: "go on?" })

    await page.run("void chat.submit(undefined, { command: { resume: 'yes' } })")

    const done = await page.shows("the answer", isSaid("You answered yes."))
    assert.equal(done.interrupt, undefined)
    assert.equal(done.error, undefined)
  })
})
