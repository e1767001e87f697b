/** A graph in Python that calls the graph of another deployment with LangGraph's `RemoteGraph`. */

import assert from "node:assert/strict"
import { test } from "node:test"
import { fieldsOf } from "@superstep/toolkit/testing/fields-of"
import { unlessLong } from "@superstep/toolkit/testing/wide-tests"
import { clientOf, deploy } from "./testing/deployments.js"
import { withoutPython } from "./testing/languages.js"
import { startPlatform } from "./testing/platform.js"
import { createRepository } from "./testing/repository.js"

const caller = `import os
from langgraph.graph import END, START, MessagesState, StateGraph
from langgraph.pregel.remote import RemoteGraph

remote = RemoteGraph("chat", url=os.environ["REMOTE_URL"], api_key=os.environ["REMOTE_KEY"])
graph = StateGraph(MessagesState).add_node("remote", remote).add_edge(START, "remote").add_edge("remote", END).compile()
`

test("a graph calls the graph of another deployment, and streams what it streams", {
  skip: unlessLong("installs packages of PyPI") || withoutPython,
}, async () => {
  await using platform = await startPlatform()
  const [answering, calling] = [await createRepository("Python"), await createRepository("Python")]
  await calling.push({
    "agent/caller.py": caller,
    "langgraph.json": JSON.stringify({ dependencies: ["."], graphs: { caller: "./agent/caller.py:graph" } }),
  })
  const answers = await deploy(platform, "answers", answering.url, [], "installed")
  const secrets = [
    { name: "REMOTE_URL", value: answers.source_config.custom_url },
    { name: "REMOTE_KEY", value: platform.credentials.api_key },
  ]
  const client = clientOf(platform, await deploy(platform, "calls", calling.url, secrets, "installed"))
  const { thread_id } = await client.threads.create()
  const question = (content: string) => ({ messages: [{ role: "user", content }] })
  const events: string[] = []

  await client.runs.wait(thread_id, "caller", { input: question("hi") })
  const options = { input: question("again"), streamMode: "updates", streamSubgraphs: true } as const
  for await (const { event } of client.runs.stream(thread_id, "caller", options)) events.push(event)

  const { values } = await client.threads.getState<{ messages: { content: string }[] }>(thread_id)
  assert.deepEqual(fieldsOf(values.messages, "content"), ["hi", "hello from v1", "again", "hello from v1"])
  assert.ok(
    events.some((event) => event.startsWith("updates|remote:")),
    `${events}`,
  )
})
