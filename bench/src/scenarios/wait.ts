/** Requests that wait for a run's result: one client, and many clients at once. */
import { callJson } from "../http-client.js"
import type { Options } from "../options.js"
import type { System } from "../systems/system.js"
import {
  checkLast,
  createThread,
  inParallel,
  pythonToo,
  type Sample,
  type Scenario,
  spending,
  stateOf,
  userSays,
  withoutEdge,
} from "./scenario.js"

const clients = 64

export const waitScenarios = ({ requests, isQuick }: Options): Scenario[] => {
  const count = isQuick ? 2 * clients : 8 * clients
  return [
    {
      name: "wait, stateless, 1 client",
      metrics: [{ key: "ms", label: "request p50", unit: "ms", better: "low" }],
      systems: [...withoutEdge, ...pythonToo],
      warmUps: isQuick ? 3 : 20,
      requests: Math.ceil(requests / 2),
      run: waitOnce,
    },
    {
      name: `wait, stateless, ${clients} clients`,
      metrics: [
        { key: "perSecond", label: "requests", unit: "/s", better: "high" },
        { key: "cpuMs", label: "processor time of each", unit: "ms", better: "low" },
      ],
      systems: [...withoutEdge, ...pythonToo],
      warmUps: 1,
      requests: 1,
      run: (system) => rate(system, count, () => waitOnce(system)),
    },
    {
      name: `thread, wait, state, ${clients} clients`,
      metrics: [
        { key: "perSecond", label: "rounds of three requests", unit: "/s", better: "high" },
        { key: "cpuMs", label: "processor time of a round", unit: "ms", better: "low" },
      ],
      systems: [...withoutEdge, ...pythonToo],
      warmUps: 1,
      requests: 1,
      run: (system) => rate(system, count, () => useThread(system)),
    },
  ]
}

const echoRequest = { assistant_id: "echo", input: userSays("hello") }

interface Values {
  readonly messages: readonly unknown[]
}

async function waitOnce({ target }: System): Promise<Sample> {
  const begin = performance.now()
  const values = (await callJson(target, "POST", "/runs/wait", echoRequest)) as Values
  const ms = performance.now() - begin
  checkLast(values.messages, "echo: hello")
  return { ms }
}

async function useThread({ target }: System): Promise<void> {
  const threadId = await createThread(target)
  const values = (await callJson(target, "POST", `/threads/${threadId}/runs/wait`, echoRequest)) as Values
  checkLast(values.messages, "echo: hello")
  checkLast((await stateOf<Values>(target, threadId)).messages, "echo: hello")
}

async function rate(system: System, count: number, work: () => Promise<unknown>): Promise<Sample> {
  const { result: durationMs, cpuMs } = await spending(system, count, async () => {
    const begin = performance.now()
    await inParallel(clients, count, work)
    return performance.now() - begin
  })
  return { perSecond: (count / durationMs) * 1000, cpuMs }
}
