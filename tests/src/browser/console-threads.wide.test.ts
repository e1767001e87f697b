/**
 * The console's pages of threads in a real browser, on an agent server of `superstep dev`. Long on purpose: all tests use the one server and
 * browser that the file starts.
 */
import assert from "node:assert/strict"
import { test } from "node:test"
import { fileURLToPath } from "node:url"
import { withClient } from "@superstep/toolkit/db/with-client"
import { childrenOf, killAll, skip as noProc } from "@superstep/toolkit/testing/processes"
import { until } from "@superstep/toolkit/testing/until"
import { startGraphServer } from "../testing/graph-server.js"
import { newGate } from "./chat-page.js"
import { accessibilityProblems, noChromium, openConsole } from "./console-page.js"
import { copiedResults } from "./curl-commands.js"
import { replaceJson } from "./desk.js"
import { checkpoints, composer, openThread, replaceState, say, untilConversation, untilNode } from "./thread-page.js"

const config = fileURLToPath(new URL("../../graphs/console.json", import.meta.url))
const skip = noChromium || noProc
const threads = 10_000

const manyThreads = `
  insert into threads (thread_id, graph_id, metadata, status, values, created_at, updated_at, state_updated_at)
  select gen_random_uuid(), 'talk', json_build_object('graph_id', 'talk', 'customer', n), (array['idle', 'error'])[1 + n % 2],
    json_build_object('messages', json_build_array(json_build_object('type', 'human', 'content', 'question ' || n))), at, at, at
  from (select n, now() - make_interval(secs => 60 + n) as at from generate_series(1, $1::int) as n) numbered`

test("the console's pages of threads", { skip }, async (t) => {
  const env = { SUPERSTEP_CONFIG: config, SUPERSTEP_DEV: "1" }
  await using server = await startGraphServer(env, { hasUnitToken: false })
  const { client } = server
  await using browser = await openConsole(`${server.url}/studio/`)
  t.afterEach(() => browser.closePages())
  await browser.context.grantPermissions(["clipboard-read", "clipboard-write"])
  /** A thread whose runs wait for a gate before their last word. */
  const gatedThread = async () => {
    const gate = newGate()
    const assistant = await client.assistants.create({ graphId: "talk", config: { configurable: { gate: gate.path } } })
    const metadata = { assistant_id: assistant.assistant_id }
    return { gate, thread: await client.threads.create({ graphId: "talk", metadata }) }
  }

  await t.test(
    "a new thread is talked to, its graph lights up, and after the death of the worker the text is whole",
    async () => {
      const { gate, thread } = await gatedThread()
      const page = await openThread(browser, thread.thread_id)
      await say(page, "twice")
      await untilConversation(page, ["You: twice", "Agent: You said"])
      await untilNode(page, "answer", "running")

      await killAll(childrenOf(server.pid))
      await page.getByText("attempt 2", { exact: true }).waitFor()
      await untilConversation(page, ["You: twice", "Agent: You said"])
      await page.reload()
      await page.getByText("attempt 2", { exact: true }).waitFor()
      await untilConversation(page, ["You: twice", "Agent: You said"])
      gate.open()

      await untilConversation(page, ["You: twice", "Agent: You said twice."])
      await page.getByText(/Attempt 2 went on from the last checkpoint/).waitFor()
      await untilNode(page, "answer", "done")
      await checkpoints(page).first().getByText("answer").waitFor()
      await say(page, "next")
      await untilConversation(page, ["You: twice", "Agent: You said twice.", "You: next", "Agent: You said next."])
    },
  )

  await t.test("a run is stopped before the page knows of it, and the run before it stays as it was", async () => {
    const { thread } = await gatedThread()
    const open = newGate()
    open.open()
    await client.runs.wait(thread.thread_id, String(thread.metadata?.assistant_id), {
      input: { messages: [{ role: "user", content: "one" }] },
      config: { configurable: { gate: open.path } },
    })
    const page = await openThread(browser, thread.thread_id)
    await untilConversation(page, ["You: one", "Agent: You said one."])
    let release = () => {}
    const isReleased = new Promise<void>((resolve) => {
      release = resolve
    })
    await page.route(/\/runs$/, async (route) => {
      if (route.request().method() !== "POST") return route.continue()
      const created = await route.fetch()
      await isReleased
      await route.fulfill({ response: created })
    })
    const stopped: string[] = []
    page.on("request", (request) => {
      const [, runId] = /\/runs\/([^/]+)\/cancel/.exec(request.url()) ?? []
      if (runId !== undefined) stopped.push(runId)
    })

    await say(page, "two")
    await page.getByRole("button", { name: "Stop the run" }).click()
    release()

    await page.getByRole("button", { name: "Send", exact: true }).waitFor()
    const [second] = await client.runs.list(thread.thread_id)
    assert.ok(second)
    await client.runs.join(thread.thread_id, second.run_id)
    const statuses = (await client.runs.list(thread.thread_id)).map(({ status }) => status)
    assert.deepEqual([stopped, statuses], [[second.run_id], ["interrupted", "success"]])
  })

  await t.test("a question that is open takes no message as its answer", async () => {
    const thread = await client.threads.create({ graphId: "talk" })
    const page = await openThread(browser, thread.thread_id)
    await composer(page).fill("half a thought")
    const asked = { input: { messages: [{ role: "user", content: "ask" }] } }
    await client.runs.wait(thread.thread_id, "talk", asked)
    await page.getByText("go on?").waitFor()

    assert.equal(await composer(page).isDisabled(), true)
    assert.equal(await composer(page).getAttribute("placeholder"), "Answer the question above first.")
    assert.equal(await composer(page).inputValue(), "half a thought")
    const runs = await client.runs.list(thread.thread_id)
    await page.getByRole("textbox", { name: "Your answer" }).fill("yes")
    await page.getByRole("button", { name: "Answer", exact: true }).click()
    await untilConversation(page, ["You: ask", "Agent: You answered yes."])
    assert.equal(runs.length, 1)
    await until(() => composer(page).isEnabled(), { what: "messages can be written again" })
  })

  await t.test(
    "a run that the API started and that failed is shown as failed, with its error and its run",
    async () => {
      const thread = await client.threads.create({ graphId: "talk" })
      const failing = { input: { messages: [{ role: "user", content: "fail" }] } }
      await client.runs.wait(thread.thread_id, "talk", { ...failing, raiseError: false })
      const page = await openThread(browser, thread.thread_id)

      await page.getByText("RangeError: no words are left").waitFor()
      await page.locator(".thread-status-error").waitFor()
      await untilNode(page, "answer", "failed")
      await untilConversation(page, ["You: fail"])
      assert.equal(await page.getByRole("button", { name: "Stop the run" }).count(), 0)
      assert.equal(await page.getByRole("button", { name: "Edit the state" }).getAttribute("aria-disabled"), null)

      // The same for a run of the page itself: the end of a failed task says nothing of an error.
      await say(page, "fail")
      await page.locator(".thread-status-busy").waitFor({ state: "detached" })
      await checkpoints(page).nth(3).waitFor()
      await untilNode(page, "answer", "failed")
      await page.getByRole("link", { name: "Last run" }).click()
      await page.getByRole("heading", { name: /^Run / }).waitFor()
      const [last] = await client.runs.list(thread.thread_id)
      assert.ok(page.url().endsWith(`/runs/${last?.run_id}`))
    },
  )

  await t.test("a run that the API started is stopped from the page", async () => {
    const { gate, thread } = await gatedThread()
    const input = { messages: [{ role: "user", content: "long" }] }
    const run = await client.runs.create(thread.thread_id, String(thread.metadata?.assistant_id), { input })
    const page = await openThread(browser, thread.thread_id)

    await page.getByRole("button", { name: "Stop the run" }).click()
    await page.getByRole("button", { name: "Send" }).waitFor()
    await client.runs.join(thread.thread_id, run.run_id)

    assert.equal((await client.runs.get(thread.thread_id, run.run_id)).status, "interrupted")
    gate.open()
  })

  await t.test("a run of another client shows its messages, and drafts stay", async () => {
    const thread = await client.threads.create({ graphId: "talk" })
    const asked = (content: string) => ({ input: { messages: [{ role: "user", content }] } })
    await client.runs.wait(thread.thread_id, "talk", asked("first"))
    const page = await openThread(browser, thread.thread_id)
    await untilConversation(page, ["You: first", "Agent: You said first."])
    await composer(page).fill("half a sen")
    await page.getByRole("button", { name: "Edit the state" }).click()
    const edited = { messages: [{ type: "human", content: "half an edit" }] }
    await replaceState(page, edited)

    await client.runs.wait(thread.thread_id, "talk", asked("second"))

    await untilConversation(page, ["You: first", "Agent: You said first.", "You: second", "Agent: You said second."])
    await checkpoints(page).nth(5).waitFor()
    assert.equal(await composer(page).inputValue(), "half a sen")
    assert.match((await page.getByRole("textbox", { name: "State" }).textContent()) ?? "", /half an edit/)
  })

  await t.test("a page that lost the stream of its thread opens it again, and says so until then", async () => {
    const { gate, thread } = await gatedThread()
    const page = await browser.context.newPage()
    let isDown = true
    await page.routeWebSocket(/\/stream\/events/, (socket) => {
      if (isDown) socket.onMessage(() => socket.close())
      else socket.connectToServer()
    })
    await page.goto(`${server.url}/studio/threads/${thread.thread_id}`)
    const lost = page.getByText("It is tried again every 5 s.")
    await lost.waitFor()

    isDown = false
    await lost.waitFor({ state: "detached" })
    const input = { messages: [{ role: "user", content: "hello" }] }
    await client.runs.create(thread.thread_id, String(thread.metadata?.assistant_id), { input })

    await untilNode(page, "answer", "running")
    await untilConversation(page, ["You: hello", "Agent: You said"])
    gate.open()
  })

  await t.test("HTML in messages stays text, and nothing of it runs or loads", async () => {
    const hostile =
      '<img src=x onerror="document.title=1"><script>document.title=2</script>![x](https://elsewhere.test/x.png)'
    const thread = await client.threads.create({ graphId: "talk" })
    const page = await openThread(browser, thread.thread_id)
    const requested: string[] = []
    page.on("request", (request) => requested.push(request.url()))

    await say(page, `${hostile} [link](javascript:document.title=3)`)
    const message = page.locator("article.message-ai")
    await message
      .getByText('You said <img src=x onerror="document.title=1"><script>document.title=2</script>')
      .waitFor()

    assert.equal(await message.locator("img, script, [onerror], [href^='javascript:']").count(), 0)
    assert.match(await page.title(), /^Thread /)
    const elsewhere = requested.filter((url) => !url.startsWith(server.url))
    assert.deepEqual(elsewhere, [])
  })

  await t.test(
    "a checkpoint is looked at, edited and gone on from, and what was there stays a branch with a name",
    async () => {
      const thread = await client.threads.create({ graphId: "talk" })
      await client.runs.wait(thread.thread_id, "talk", { input: { messages: [{ role: "user", content: "first" }] } })
      const page = await openThread(browser, thread.thread_id)
      await untilConversation(page, ["You: first", "Agent: You said first."])
      await checkpoints(page).nth(1).click()
      await page.getByText("The thread as it was at step 0").waitFor()
      assert.match(page.url(), /checkpoint=/)
      await untilConversation(page, ["You: first"])
      await untilNode(page, "answer", "next")

      await page.getByRole("button", { name: "Edit the state" }).click()
      const [, start] = await client.threads.getHistory<{ messages: { content: string }[] }>(thread.thread_id)
      await replaceState(page, { messages: start?.values.messages.map((each) => ({ ...each, content: "edited" })) })
      await page.getByText("messages[0].content").waitFor()
      assert.deepEqual(await accessibilityProblems(page), [])
      await page.getByRole("button", { name: "Go on with this state" }).click()

      await untilConversation(page, ["You: edited", "Agent: You said edited."])
      assert.doesNotMatch(page.url(), /checkpoint=/)
      await checkpoints(page).filter({ hasText: "edited" }).waitFor()

      await checkpoints(page)
        .filter({ hasText: /^answer/ })
        .nth(1)
        .click()
      await untilConversation(page, ["You: first", "Agent: You said first."])
      await page.getByRole("button", { name: "Name the branch" }).click()
      await page.getByRole("textbox", { name: "Name of the branch" }).fill("before the edit")
      await page.keyboard.press("Enter")
      await checkpoints(page).filter({ hasText: "before the edit" }).waitFor()
      const { metadata } = await client.threads.get(thread.thread_id)
      assert.deepEqual(Object.values(metadata?.branch_names as object), ["before the edit"])
    },
  )

  await t.test("a checkpoint is gone on from as it is", async () => {
    const thread = await client.threads.create({ graphId: "nested" })
    await client.runs.wait(thread.thread_id, "nested", { input: { log: [] } })
    const page = await openThread(browser, thread.thread_id)
    await checkpoints(page).first().getByText("sub").waitFor()
    const before = await checkpoints(page).count()
    await checkpoints(page)
      .filter({ hasText: /^first/ })
      .click()

    await page.getByRole("button", { name: "Go on from here" }).click()

    await untilNode(page, "sub", "done")
    await checkpoints(page).nth(before).waitFor()
    await checkpoints(page).filter({ hasText: /^fork/ }).waitFor()
    const [run] = await client.runs.list(thread.thread_id)
    assert.equal(run?.status, "success")
  })

  await t.test("the copied commands read what the page of a thread shows, also of its older checkpoints", async () => {
    const thread = await client.threads.create({ graphId: "talk" })
    for (const content of ["1", "2", "3", "4"])
      await client.runs.wait(thread.thread_id, "talk", { input: { messages: [{ role: "user", content }] } })
    const page = await openThread(browser, thread.thread_id)
    await checkpoints(page).nth(11).waitFor()

    const [read, state, history] = (await copiedResults(page)) as [{ thread_id: string }, object, unknown[]]

    assert.equal(read.thread_id, thread.thread_id)
    assert.ok("values" in state)
    assert.equal(history.length, await checkpoints(page).count())
  })

  await t.test("a graph whose messages have another name is talked to on the first visit", async () => {
    const thread = await client.threads.create({ graphId: "notes" })
    const page = await openThread(browser, thread.thread_id)

    await say(page, "milk")

    await untilConversation(page, ["You: milk", "Agent: You noted milk."])
  })

  await t.test("a form starts with defaults, says what is wrong, and sends what it shows", async () => {
    const thread = await client.threads.create({ graphId: "survey" })
    const page = await browser.open(`threads/${thread.thread_id}`)
    const form = page.getByRole("form", { name: "Input" })
    const run = form.getByRole("button", { name: "Run" })
    assert.equal(await form.getByRole("textbox", { name: /tone/ }).inputValue(), "dry")
    for (const [n, part] of ["a", "b", "c"].entries()) {
      await form.getByRole("button", { name: "Add" }).click()
      await replaceJson(page, `parts ${n + 1}`, part)
    }
    await form.getByRole("button", { name: "Remove parts 1" }).click()
    assert.equal(await page.getByRole("textbox", { name: "parts 1" }).textContent(), '"b"')

    await run.click()
    await form.getByText("Enter a text.").waitFor()
    assert.deepEqual(await client.runs.list(thread.thread_id), [])
    await form.getByRole("textbox", { name: "title" }).fill("Lunch")
    await page.getByRole("textbox", { name: "parts 2" }).click()
    await page.keyboard.insertText("no")
    await run.click()
    await form.getByText(/This is no JSON/).waitFor()
    assert.deepEqual(await client.runs.list(thread.thread_id), [])
    await page.getByRole("textbox", { name: "parts 2" }).click()
    for (const key of ["Backspace", "Backspace"]) await page.keyboard.press(key)
    await run.click()

    await untilNode(page, "read", "done")
    const { values } = await client.threads.getState(thread.thread_id)
    assert.deepEqual(values, { title: "Lunch", tone: "dry", parts: ["b", "c"] })
  })

  await t.test(`among ${threads} threads one is found by text, status and metadata, and by keyboard`, async () => {
    await withClient(server.db.uri, (db) => db.query(manyThreads, [threads]))
    const page = await browser.open("threads")
    const rows = page.getByRole("list", { name: "Threads" }).getByRole("link")
    await rows.filter({ hasText: "question 1" }).first().waitFor()
    assert.deepEqual(await accessibilityProblems(page), [])
    assert.ok((await rows.count()) < 100)

    await rows.first().focus()
    await page.keyboard.press("End")
    await page.getByRole("link", { name: `question ${threads} ` }).waitFor()
    assert.match((await page.locator(":focus").textContent()) ?? "", new RegExp(`question ${threads}`))

    await page.getByRole("searchbox", { name: "Text in values" }).fill("QUESTION 777")
    await page.getByText("11 threads", { exact: true }).waitFor()
    await page.getByRole("combobox", { name: "Status" }).selectOption("idle")
    await page.getByText("5 threads", { exact: true }).waitFor()
    await page.getByRole("searchbox", { name: "Metadata" }).fill("customer:7772")
    await page.getByText("1 thread", { exact: true }).waitFor()
    const [count, found] = (await copiedResults(page)) as [number, unknown[]]
    assert.deepEqual([count, found.length], [1, 1])
    assert.match(page.url(), /q=.*777.*status=idle.*metadata=/)
    await page.reload()
    await page.getByText("1 thread", { exact: true }).waitFor()

    await rows.first().focus()
    await page.keyboard.press("Enter")
    await page.getByRole("heading", { name: /^Thread / }).waitFor()
    await composer(page).waitFor()
  })

  // While a killed worker is replaced, the server cannot read a state: the page has asked again.
  const problems = browser.problems.filter((problem) => !/status of 503/.test(problem))
  assert.deepEqual(problems, [])
})
