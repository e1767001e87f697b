/** Reading the state of an idle thread. */
import { callJson } from "../http-client.js"
import type { Options } from "../options.js"
import type { System } from "../systems/system.js"
import { checkLast, createThread, type Sample, type Scenario, stateOf, userSays, withoutEdge } from "./scenario.js"

export const threadStateScenarios = ({ requests, isQuick }: Options): Scenario[] => [
  {
    name: "state of a thread, 1 client",
    metrics: [{ key: "ms", label: "request p50", unit: "ms", better: "low" }],
    systems: withoutEdge,
    warmUps: isQuick ? 3 : 200,
    requests,
    run: readState,
  },
]

interface Values {
  readonly messages: readonly unknown[]
}

// One thread per system, because only reading is measured.
const threads = new WeakMap<System, Promise<string>>()

async function readState(system: System): Promise<Sample> {
  const thread = threads.get(system) ?? threadWithMessages(system)
  threads.set(system, thread)
  const threadId = await thread
  const begin = performance.now()
  const { messages } = await stateOf<Values>(system.target, threadId)
  const ms = performance.now() - begin
  checkLast(messages, "echo: hello")
  return { ms }
}

async function threadWithMessages({ target }: System): Promise<string> {
  const threadId = await createThread(target)
  await callJson(target, "POST", `/threads/${threadId}/runs/wait`, { assistant_id: "echo", input: userSays("hello") })
  return threadId
}
