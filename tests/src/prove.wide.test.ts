/** `superstep prove` as users start it: on the two examples, on a project of both languages, and on a graph that does not survive kills. */
import assert from "node:assert/strict"
import { readdirSync } from "node:fs"
import { test } from "node:test"
import { skip } from "@superstep/toolkit/testing/processes"
import { temporaryFolder } from "@superstep/toolkit/testing/temporary-folder"
import { type Ended, interrupt, startCli, untilPrinted } from "superstep/testing/run-cli"
import { testPython, withoutPython } from "./testing/languages.js"
import { projectWith } from "./testing/projects.js"

const graphInJavaScript = `
import { setTimeout as sleep } from "node:timers/promises"
import { MessagesAnnotation, START, StateGraph } from "@langchain/langgraph"

const say = (content) => async () => {
  await sleep(300)
  return { messages: [{ role: "ai", content }] }
}
export const graph = new StateGraph(MessagesAnnotation)
  .addNode("one", say("one"))
  .addNode("two", say("two"))
  .addEdge(START, "one")
  .addEdge("one", "two")
  .compile()
`

const graphInPython = `
import asyncio
from langgraph.graph import START, MessagesState, StateGraph

async def say(state: MessagesState):
    await asyncio.sleep(0.5)
    return {"messages": [{"role": "ai", "content": "said"}]}

graph = StateGraph(MessagesState).add_node(say).add_edge(START, "say").compile()
`

// A node that has a side effect and does not allow for a second execution: what \`docs/durability.md\` warns of.
const graphThatChargesTwice = `
import { existsSync, writeFileSync } from "node:fs"
import { setTimeout as sleep } from "node:timers/promises"
import { MessagesAnnotation, START, StateGraph } from "@langchain/langgraph"

const charge = async (state, { configurable }) => {
  const receipt = configurable.run_id + ".receipt"
  if (existsSync(receipt)) throw new Error("the card was charged already")
  writeFileSync(receipt, "")
  await sleep(2000)
  return { messages: [{ role: "ai", content: "charged" }] }
}
export const graph = new StateGraph(MessagesAnnotation).addNode("charge", charge).addEdge(START, "charge").compile()
`

/** A proof whose temporary files are in a folder of their own. */
function startProof(cwd: string, ...options: string[]) {
  const temporary = temporaryFolder()
  const env = { TMPDIR: temporary, SUPERSTEP_PYTHON: testPython }
  const proof = startCli(["prove", ...options], { cwd, env })
  return { ...proof, left: () => readdirSync(temporary) }
}

// Its first attacks are those that make nodes execute again: kills of workers and of a server, a stop, a pause.
const killsFirst = "557"

const held = /^✔ Held: \d+ attacks on \d+ runs, \d+ while runs executed, and no promise was broken\.$/m

function assertHeld({ code, stdout, stderr }: Ended): void {
  assert.match(stdout, held, stderr)
  assert.doesNotMatch(stdout, /BROKEN/)
  assert.equal(code, 0)
}

test("superstep prove", { skip, concurrency: 2 }, async (t) => {
  await Promise.all([
    t.test("holds on the example in TypeScript, and leaves nothing", async () => {
      const proof = startProof(projectWith({}, "examples/chat"), "--minutes", "0.5")

      const ended = await proof.ended

      assertHeld(ended)
      assert.match(ended.stdout, /each final state is that of undisturbed runs +held, \d+ runs/)
      assert.deepEqual(proof.left(), [])
    }),

    t.test("holds on the example in Python", { skip: withoutPython }, async () => {
      assertHeld(await startProof(projectWith({}, "examples/python-chat"), "--minutes", "0.5").ended)
    }),

    t.test("holds on a project of both languages", { skip: withoutPython }, async () => {
      const graphs = { javascript: "./agent.js:graph", python: "./agent.py:graph" }
      const folder = projectWith({
        "langgraph.json": JSON.stringify({ dependencies: ["."], graphs }),
        "package.json": JSON.stringify({ type: "module" }),
        "agent.js": graphInJavaScript,
        "agent.py": graphInPython,
      })

      const ended = await startProof(folder, "--minutes", "0.5").ended

      assertHeld(ended)
      assert.match(ended.stdout, /graph javascript, python, 0\.5 minutes/)
    }),

    t.test("says what broke and how to repeat it when a graph does not survive kills", async () => {
      const folder = projectWith({
        "langgraph.json": JSON.stringify({ graphs: { shop: "./shop.js:graph" } }),
        "package.json": JSON.stringify({ type: "module" }),
        "shop.js": graphThatChargesTwice,
      })

      const { code, stdout } = await startProof(folder, "--minutes", "0.5", "--seed", killsFirst).ended

      assert.match(stdout, /no run failed that does not fail undisturbed +BROKEN/, stdout)
      assert.match(stdout, /the card was charged already/)
      assert.match(stdout, new RegExp(`superstep prove --seed ${killsFirst} --minutes 0\\.5`))
      assert.equal(code, 1)
    }),

    t.test("Ctrl-C ends it without a verdict, and leaves nothing", async () => {
      const proof = startProof(projectWith({}, "examples/chat"))
      await untilPrinted(proof, "round 1", 180_000)

      const { code, stderr } = await interrupt(proof)

      assert.match(stderr, /stopped before there was a verdict/)
      assert.equal(code, 2)
      assert.deepEqual(proof.left(), [])
    }),
  ])
})
