/** Answers that LangGraph refuses leave the thread as it was: it waits for the same questions, which can be answered again. */
import assert from "node:assert/strict"
import { describe, test } from "node:test"
import type { Interrupt } from "@langchain/langgraph-sdk"
import { isSince } from "@superstep/worker-js/testing/worker"
import { type AgentServerProcess, serverForAll } from "./testing/agent-servers.js"
import { ask } from "./testing/ask.js"
import { languagesOf } from "./testing/languages.js"

const tooOld = !isSince("1.7.0") && "LangGraph before 1.7.0 does not know it: npm test -- --newest"
const [javascript, python] = languagesOf({
  JavaScript: "tests/graphs/quick.json",
  Python: "workers/python/testing/graphs/langgraph.json",
})
const languages = [
  { ...javascript, pair: "hitl2", skip: tooOld },
  { ...python, pair: "pair" },
]

const questionsOf = async ({ client }: AgentServerProcess, threadId: string) => {
  const { status, interrupts } = await client.threads.get(threadId)
  const questions: Interrupt[] = Object.values(interrupts ?? {}).flat()
  return { status, questions: questions.sort((a, b) => (JSON.stringify(a.value) < JSON.stringify(b.value) ? -1 : 1)) }
}

/** @returns the data of the stream's `error` event, and the status with which it ends */
async function answerStrictly(server: AgentServerProcess, threadId: string, graphId: string, resume: unknown) {
  const body = JSON.stringify({ assistant_id: graphId, command: { resume }, strict_resume: true })
  const headers = { "content-type": "application/json" }
  const path = `/threads/${threadId}/runs/stream`
  const { body: text } = await ask(server, path, { method: "POST", headers, body })
  const dataOf = (event: string) =>
    JSON.parse(new RegExp(`^event: ${event}\r?\ndata: (.*)$`, "m").exec(text)?.[1] ?? "{}")
  return { error: dataOf("error").error as string | undefined, status: dataOf("end").status as string }
}

for (const { name, env, pair, skip } of languages) {
  describe(`in ${name}`, { skip }, () => {
    const server = serverForAll({ env })

    test("a strict answer that names no open question changes nothing", async () => {
      const { thread_id } = await server.client.threads.create()
      await server.client.runs.wait(thread_id, pair, { input: { out: [] } })
      const asked = await questionsOf(server, thread_id)
      const [a, b] = asked.questions

      for (const wrong of [{ ["0".repeat(32)]: "?" }, {}, "?"]) {
        const refused = await answerStrictly(server, thread_id, pair, wrong)
        assert.deepEqual(refused, { error: "UnknownInterruptError", status: "error" }, JSON.stringify(wrong))
        assert.deepEqual(await questionsOf(server, thread_id), asked, JSON.stringify(wrong))
      }
      const first = await answerStrictly(server, thread_id, pair, { [a?.id ?? ""]: "1" })
      const between = await questionsOf(server, thread_id)
      const second = await answerStrictly(server, thread_id, pair, { [b?.id ?? ""]: "2" })
      const { values } = await server.client.threads.getState<{ out: string[] }>(thread_id)
      const { flags } = (await ask(server, "/info")).body

      assert.deepEqual([asked.status, asked.questions.length], ["interrupted", 2])
      assert.deepEqual(first, { error: undefined, status: "interrupted" })
      assert.deepEqual(between, { ...asked, questions: [b] })
      assert.deepEqual([second.status, values.out.sort()], ["success", ["a:1", "b:2"]])
      assert.equal(flags.strict_resume, true)
    })

    test("a question with a schema stays open after an answer that does not fit", async () => {
      const { client } = server
      const { thread_id } = await client.threads.create()
      await client.runs.wait(thread_id, "choice", { input: { out: [] } })
      const asked = await questionsOf(server, thread_id)

      const answer = (n: unknown) =>
        client.runs.wait(thread_id, "choice", { command: { resume: { n } }, raiseError: false })
      const wrong = await answer("three")
      const still = await questionsOf(server, thread_id)
      const right = (await answer(3)) as { out: string[] }

      assert.equal("__error__" in wrong, true)
      assert.deepEqual([asked.status, still], ["interrupted", asked])
      assert.match(JSON.stringify(asked.questions), /"response_schema":\{.*"n"/)
      assert.deepEqual([right.out, (await questionsOf(server, thread_id)).status], [["3"], "idle"])
    })
  })
}
