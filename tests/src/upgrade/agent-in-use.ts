/** A deployed agent with everything that an upgrade must keep: threads, a question, a queue, a cron, a secret, streams and requests. */
import assert from "node:assert/strict"
import { randomUUID } from "node:crypto"
import type { Client } from "@langchain/langgraph-sdk"
import { until } from "@superstep/toolkit/testing/until"
import { clientOf, type Deployment, deploy, startRevision, untilDeployed } from "../testing/deployments.js"
import type { LanguageName } from "../testing/languages.js"
import { endTicks, keepAsking, keepTalking } from "../testing/live-traffic.js"
import type { LocalPlatform } from "../testing/platform.js"
import { createRepository } from "../testing/repository.js"

type Fields = Readonly<Record<string, unknown>>

const secret = { name: "MODEL_KEY", value: "sk-1" }

/** A question, and an answer that shows the secret. */
const askGraph = {
  JavaScript: {
    path: "./src/ask.ts:graph",
    files: {
      "src/ask.ts": `import { Annotation, interrupt, StateGraph } from "@langchain/langgraph"
const State = Annotation.Root({ answers: Annotation<string[]>({ reducer: (a, b) => a.concat(b), default: () => [] }) })
const ask = () => ({ answers: [\`\${interrupt("go on?")} with \${process.env.MODEL_KEY}\`] })
export const graph = new StateGraph(State).addNode("ask", ask).addEdge("__start__", "ask").compile()
`,
    },
  },
  Python: {
    path: "./agent/ask.py:graph",
    files: {
      "agent/ask.py": `import operator
import os
from typing import Annotated, TypedDict
from langgraph.graph import START, StateGraph
from langgraph.types import interrupt

class State(TypedDict, total=False):
    answers: Annotated[list[str], operator.add]

def ask(state: State) -> State:
    return {"answers": [f"{interrupt('go on?')} with {os.environ['MODEL_KEY']}"]}

graph = StateGraph(State).add_node("ask", ask).add_edge(START, "ask").compile()
`,
    },
  },
}

const graphsOf = (language: LanguageName) => {
  const [folder, ending] = language === "JavaScript" ? ["src", "ts"] : ["agent", "py"]
  return {
    chat: `./${folder}/chat.${ending}:graph`,
    ticks: `./${folder}/ticks.${ending}:graph`,
    ask: askGraph[language].path,
  }
}

export interface AgentInUse {
  readonly deployment: Deployment
  /** Gives the agent a new revision, and waits until it serves. */
  redeploy(): Promise<void>
  /** Throws an AssertionError unless what the agent had saved at its start is the same: states and the store to the byte, threads and runs by field. */
  assertSaved(): Promise<void>
  /** Resolves when so many more requests were answered. */
  untilAnswered(count: number): Promise<void>
  /** Answers the next of the open questions. @throws AssertionError  the thread goes on in another way, or without the secret */
  answerOne(): Promise<void>
  /** Resolves when a run of the cron that began after a time in ISO 8601 has ended well. */
  untilCronRan(since: string): Promise<void>
  /** Lets the runs that wait in a queue execute. @throws AssertionError  one does not end well, or not in its turn */
  endQueue(): Promise<void>
  /** The secret's value, as the control plane decrypts it. */
  secret(): Promise<string>
  /** Ends the traffic. @returns  what failed: requests, and streams that were cut or lack events */
  stop(): Promise<readonly string[]>
}

/** @param questions  how many threads wait for an answer */
export async function startAgentInUse(
  platform: LocalPlatform,
  { language, questions }: { language: LanguageName; questions: number },
): Promise<AgentInUse> {
  const repository = await createRepository(language)
  const config = { dependencies: ["."], graphs: graphsOf(language) }
  await repository.push({ ...askGraph[language].files, "langgraph.json": JSON.stringify(config) })
  const packages = language === "JavaScript" ? "linked" : "installed"
  const deployment = await deploy(platform, `live-${language.toLowerCase()}`, repository.url, [secret], packages)
  const client = clientOf(platform, deployment)
  const { custom_url: url } = deployment.source_config
  const finished = await finishedThread(client)
  const paused = await Promise.all(Array.from({ length: questions }, () => pausedThread(client)))
  const { thread_id: cronThread } = await client.threads.create()
  await client.crons.createForThread(cronThread, "chat", { schedule: "* * * * *", input: { messages: [] } })
  const queue = await startQueue(client)
  const requests = keepAsking(url, { apiKey: platform.credentials.api_key, perSecond: 10 })
  // Longer than the test, which ends them.
  const conversations = keepTalking(client, { count: 3, steps: 4000 })

  const text = async (path: string) => {
    const reply = await fetch(url + path, { headers: { "x-api-key": platform.credentials.api_key } })
    assert.equal(reply.status, 200, `${path}: ${await reply.clone().text()}`)
    return reply.text()
  }
  const threadPath = `/threads/${finished.thread_id}`
  const paths = [`${threadPath}/state`, `${threadPath}/history`, "/store/items?namespace=notes&key=numbers"]
  const savedTexts = () => Promise.all(paths.map(text))
  const savedFields = async (): Promise<Fields[]> => {
    const texts = await Promise.all([threadPath, `${threadPath}/runs`].map(text))
    return texts.flatMap((json): Fields[] => [JSON.parse(json)].flat())
  }
  const [texts, fields] = [await savedTexts(), await savedFields()]

  return {
    deployment,
    redeploy: async () => {
      const revisionId = await startRevision(platform, deployment.id)
      await untilDeployed(platform, deployment.id, revisionId)
    },
    assertSaved: async () => {
      assert.deepEqual(await savedTexts(), texts)
      // A release may add fields.
      const now = await savedFields()
      const known = fields.map((one, n) => Object.fromEntries(Object.keys(one).map((name) => [name, now[n]?.[name]])))
      assert.deepEqual(known, fields)
    },
    untilAnswered: async (count) => {
      const seen = requests.answers.length
      await until(() => requests.answers.length > seen + count, { what: "requests go on", timeoutMs: 60_000 })
    },
    answerOne: async () => {
      const threadId = paused.pop()
      assert.ok(threadId, "all questions are answered")
      const { status, interrupts } = await client.threads.get(threadId)
      assert.deepEqual(
        [
          status,
          Object.values(interrupts)
            .flat()
            .map(({ value }) => value),
        ],
        ["interrupted", ["go on?"]],
      )
      const values = await client.runs.wait(threadId, "ask", { command: { resume: "yes" } })
      assert.deepEqual(values, { answers: [`yes with ${secret.value}`] })
    },
    untilCronRan: async (since) => {
      const hasRun = async () => {
        const runs = await client.runs.list(cronThread)
        return runs.some(({ created_at, status }) => created_at > since && status === "success")
      }
      await until(hasRun, { what: `the cron runs after ${since}`, timeoutMs: 120_000 })
    },
    endQueue: () => endQueue(client, queue),
    secret: async () => {
      const path = `/v2/deployments/${deployment.id}/secrets/${secret.name}?reveal=true`
      const { body } = await platform.api<{ value: string }>("GET", path)
      return body.value
    },
    stop: async () => {
      await Promise.all([requests.stop(), conversations.stop()])
      const failed = [
        ...requests.answers.map(({ failure }) => failure),
        ...conversations.ended.map(({ problem }) => problem),
      ]
      return [...new Set(failed.filter((problem) => problem !== ""))]
    },
  }
}

async function finishedThread(client: Client) {
  const thread = await client.threads.create({ metadata: { made: "before the upgrade" } })
  for (const content of ["hi", "again"])
    await client.runs.wait(thread.thread_id, "chat", { input: { messages: [{ role: "user", content }] } })
  await client.store.putItem(["notes"], "numbers", {
    half: 0.5,
    large: 2 ** 53,
    text: "\u{1F600}",
    nested: [{ none: null }],
  })
  return thread
}

async function pausedThread(client: Client): Promise<string> {
  const { thread_id } = await client.threads.create()
  await client.runs.wait(thread_id, "ask", { input: { answers: [] } })
  return thread_id
}

interface Queue {
  readonly threadId: string
  readonly runIds: readonly string[]
  /** Ends the first run. */
  readonly key: string
}

/** A run that goes on until it is told to end, and three that wait for it. */
async function startQueue(client: Client): Promise<Queue> {
  const { thread_id: threadId } = await client.threads.create()
  const key = randomUUID()
  const runIds: string[] = []
  for (const steps of [4000, 2, 2, 2]) {
    const { run_id } = await client.runs.create(threadId, "ticks", {
      input: { count: 0, steps, everyMs: 100, untilItem: steps > 2 ? key : "none" },
      multitaskStrategy: "enqueue",
      config: { recursion_limit: 5000 },
    })
    runIds.push(run_id)
  }
  return { threadId, runIds, key }
}

async function endQueue(client: Client, { threadId, runIds, key }: Queue): Promise<void> {
  await endTicks(client, key)
  await client.runs.join(threadId, runIds.at(-1) ?? "")
  const statuses = await Promise.all(runIds.map(async (id) => (await client.runs.get(threadId, id)).status))
  assert.deepEqual([...new Set(statuses)], ["success"])
  const { values } = await client.threads.getState<{ log: number[] }>(threadId)
  // The graph counts from 0 in each run: the first has as many steps as time allowed, the others two.
  const first = values.log.slice(0, -6)
  assert.deepEqual(
    first,
    first.map((_, n) => n),
  )
  assert.deepEqual(values.log.slice(-6), [0, 1, 0, 1, 0, 1])
}
