/** Conversations that pause: an agent that asks a question, and a client that answers it. */
import assert from "node:assert/strict"
import type { Client } from "@langchain/langgraph-sdk"

/** The project: a graph that asks a question in a node of that name. */
export const questionIn = (node: string) => ({
  "langgraph.json": JSON.stringify({ node_version: "20", graphs: { question: "./src/question.ts:graph" }, env: {} }),
  "src/question.ts": `import { Annotation, END, interrupt, START, StateGraph } from "@langchain/langgraph"
const State = Annotation.Root({ said: Annotation<string>() })
export const graph = new StateGraph(State)
  .addNode(${JSON.stringify(node)}, () => ({ said: ${JSON.stringify(node)} + " heard " + interrupt("well?") }))
  .addEdge(START, ${JSON.stringify(node)})
  .addEdge(${JSON.stringify(node)}, END)
  .compile()
`,
})

/** @returns a thread that waits for an answer */
export async function ask(client: Client): Promise<string> {
  const { thread_id: threadId } = await client.threads.create()
  await client.runs.wait(threadId, "question", { input: {} })
  assert.equal((await client.threads.get(threadId)).status, "interrupted")
  return threadId
}

/** @returns what the thread's graph says to "yes" */
export const answer = async (client: Client, threadId: string): Promise<unknown> =>
  ((await client.runs.wait(threadId, "question", { command: { resume: "yes" } })) as { said?: string }).said
