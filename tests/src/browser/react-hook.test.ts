/** The hook `useStream` of `@langchain/react` in a real browser, against a real server (protocol-v2 §2.2). */

import assert from "node:assert/strict"
import { test } from "node:test"
import { fileURLToPath } from "node:url"
import { fieldsOf } from "@superstep/toolkit/testing/fields-of"
import { until } from "@superstep/toolkit/testing/until"
import { cuttableHttp } from "../testing/cuttable-http.js"
import { startGraphServer } from "../testing/graph-server.js"
import { newGate } from "./chat-page.js"
import { noBrowserFrontEnds as skip } from "./front-ends.js"
import { areDistinct, isSaying, isSettled, openReactPage, type ReactShown, submit, texts } from "./react-page.js"

const config = fileURLToPath(new URL("../../graphs/browser.json", import.meta.url))

for (const sdk of ["its own SDK", "the newest SDK"] as const)
  test(`the hook of @langchain/react with ${sdk} in a browser`, { skip }, async (t) => {
    await using server = await startGraphServer({ SUPERSTEP_CONFIG: config })
    const { client } = server
    await using browser = await openReactPage(server, sdk)

    await t.test("shows an answer word by word, with the ids of the thread's state", async () => {
      await using page = await browser.another()
      const gate = newGate()
      await submit(page, "hello", { gate: gate.path })
      await page.shows("the first words", isSaying("hello", "You said "))
      gate.open()

      const { threadId, messages } = await page.shows("the whole answer", isSettled("hello", "You said hello."))

      const { values } = await client.threads.getState<{ messages: { id: string }[] }>(threadId ?? "")
      assert.deepEqual(fieldsOf(messages, "id"), fieldsOf(values.messages, "id"))
    })

    await t.test("stops a run, which is then interrupted on the server too", async () => {
      await using page = await browser.another()
      await submit(page, "long", { gate: newGate().path })
      const { threadId } = await page.shows("the first words", isSaying("long", "You said "))

      await page.run("void chat.stop()")

      await page.shows("that it has stopped", ({ isLoading }) => !isLoading)
      const [run] = await client.runs.list(threadId ?? "")
      assert.ok(run)
      await client.runs.join(threadId ?? "", run.run_id)
      assert.equal((await client.runs.get(threadId ?? "", run.run_id)).status, "interrupted")
    })

    await t.test("finds a run again after a reload in the middle of it, and in a second tab", async () => {
      await using page = await browser.another()
      const gate = newGate()
      await submit(page, "again", { gate: gate.path })
      const { threadId } = await page.shows("the first words", isSaying("again", "You said "))

      await page.reload()
      await using tab = await page.another({ thread: threadId ?? "" })
      await page.shows("the same words", isSaying("again", "You said "))
      await tab.shows("the same words", isSaying("again", "You said "))
      gate.open()

      const shown = await page.shows("the whole answer", isSettled("again", "You said again."))
      const other = await tab.shows("the whole answer", isSettled("again", "You said again."))
      assert.deepEqual(other.messages, shown.messages)
    })

    await t.test("shows what one tab sends in the other", async () => {
      await using page = await browser.another()
      await submit(page, "one")
      const { threadId } = await page.shows("the first answer", isSettled("one", "You said one."))
      await using tab = await page.another({ thread: threadId ?? "" })
      await tab.shows("the first answer", isSettled("one", "You said one."))
      const gate = newGate()

      await submit(tab, "two", { gate: gate.path })
      await page.shows("the first words", isSaying("two", "You said "))
      gate.open()

      const all = ["one", "You said one.", "two", "You said two."]
      await page.shows("the second answer", isSettled(...all))
      await tab.shows("the second answer", isSettled(...all))
    })

    await t.test("shows a run that the older API creates", async () => {
      await using page = await browser.another()
      await submit(page, "one")
      const { threadId } = await page.shows("the first answer", isSettled("one", "You said one."))

      const input = { messages: [{ role: "user", content: "two" }] }
      await client.runs.wait(threadId ?? "", "talk", { input })

      await page.shows("the other answer", isSettled("one", "You said one.", "two", "You said two."))
    })

    await t.test(
      "shows what an interrupt asks, goes on with the answer, and clears the question in the other tab",
      async () => {
        await using page = await browser.another()
        await submit(page, "ask")
        const isAsking = ({ isLoading, interrupts }: ReactShown) => !isLoading && interrupts.length > 0
        const asked = await page.shows("the question", isAsking)
        assert.deepEqual(asked.interrupts[0]?.value, { question: "go on?" })
        await using tab = await page.another({ thread: asked.threadId ?? "" })
        await tab.shows("the question", isAsking)

        await page.run("void chat.respond('yes')")

        for (const each of [page, tab]) {
          const done = await each.shows("the answer", isSettled("ask", "You answered yes."))
          assert.equal(done.error, undefined)
          // SDK 1.11.0 does not know the event that says that a question was answered elsewhere.
          if (each === page || sdk === "the newest SDK") assert.deepEqual(done.interrupts, [])
        }
      },
    )

    // It then goes on showing the message, mostly.
    const noForks =
      sdk === "its own SDK" && "SDK 1.11.0 takes the first values of a fork for a replay: their step is lower"
    await t.test("goes on from before a message, and keeps what was there", { skip: noForks }, async () => {
      await using page = await browser.another()
      await submit(page, "first")
      const before = await page.shows("the first answer", isSettled("first", "You said first."))
      const forkFrom = await page.run("forkPoints[given]", before.messages[0]?.id)
      assert.equal(typeof forkFrom, "string")

      await submit(page, "edited", { forkFrom: String(forkFrom) })

      await page.shows("the other answer", isSettled("edited", "You said edited."))
      const history = await client.threads.getHistory<{ messages: { content: string }[] }>(before.threadId ?? "")
      const said = history.map(({ values }) => values.messages?.map(({ content }) => content).join() ?? "")
      assert.ok(said.includes("first,You said first."))
      assert.ok(said.includes("edited,You said edited."))
    })

    await t.test("shows tool calls with their results", async () => {
      await using page = await browser.another({ assistant: "agent" })
      await submit(page, "what is 1 + 2?")

      const shown = await page.shows("the answer", (it) => !it.isLoading && texts(it).at(-1) === "The sum is 3.")

      assert.deepEqual(fieldsOf(shown.toolCalls, "name", "status"), [["add", "finished"]])
      assert.ok(areDistinct(shown))
    })

    await t.test("finds subgraphs as they start", async () => {
      await using page = await browser.another({ assistant: "nested" })
      await submit(page, "go")

      const { subgraphs } = await page.shows("the end", (it) => !it.isLoading && texts(it).length > 1)

      assert.deepEqual(subgraphs, [{ nodeName: "sub", status: "complete" }])
    })

    await t.test("shows the error of a run", async () => {
      await using page = await browser.another({ assistant: "error" })
      await submit(page, "go")

      const { error } = await page.shows("the error", (it) => !it.isLoading && it.error !== undefined)

      assert.match(String(error), /node exploded/)
      assert.doesNotMatch(String(error), /\\"/)
    })

    await t.test("shows a subagent with what it says", async () => {
      await using page = await browser.another({ assistant: "helper" })
      await submit(page, "what is the answer?")

      const shown = await page.shows("the answer", (it) => !it.isLoading && texts(it).at(-1) === "They say: Forty-two.")

      assert.deepEqual(shown.subagents, [{ name: "researcher", status: "complete" }])
      const said = async () => Object.values((await page.run("subagentTexts")) as Record<string, string[]>).flat()
      await until(async () => (await said()).includes("Forty-two."), { what: "the subagent's words" })
    })

    // The server keeps the events for two minutes after the run's end, however long the page was away.
    for (const outage of ["cut", "hold"] as const)
      await t.test(`misses nothing of an answer that ends while it is offline (${outage})`, async () => {
        await using line = await cuttableHttp(server.url)
        await using page = await browser.another({ api: line.url })
        const gate = newGate()
        await submit(page, "away", { gate: gate.path })
        await page.shows("the first words", isSaying("away", "You said "))

        line[outage]()
        gate.open()
        const { threadId } = await page.shows("the thread", ({ threadId }) => threadId !== null)
        const [run] = await client.runs.list(threadId ?? "")
        await client.runs.join(threadId ?? "", run?.run_id ?? "")
        line.heal()

        const shown = await page.shows("the whole answer", isSettled("away", "You said away."))
        assert.ok(areDistinct(shown))
      })
  })
