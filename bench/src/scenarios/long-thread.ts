/** The cost of a turn in a growing conversation, and of reading its history. */
import { timeCall } from "../http-client.js"
import type { Options } from "../options.js"
import { median } from "../statistics.js"
import type { System } from "../systems/system.js"
import { check, checkLast, createThread, type Sample, type Scenario, userSays, withoutEdge } from "./scenario.js"

export const longThreadScenarios = ({ isQuick }: Options): Scenario[] => {
  const turns = isQuick ? 20 : 200
  return [
    {
      name: `a thread of ${turns} turns`,
      metrics: [
        { key: "growthMs", label: `growth per ${turns / 2} turns`, unit: "ms", better: "low" },
        { key: "turnMs", label: `turn ${turns}`, unit: "ms", better: "low" },
        { key: "historyMs", label: `history of ${turns / 2}`, unit: "ms", better: "low" },
      ],
      systems: withoutEdge,
      warmUps: 0,
      requests: 1,
      maxRounds: 3,
      run: (system) => converse(system, turns),
    },
  ]
}

// A paragraph of typical length.
const text = "What is said in one turn of a conversation. ".repeat(5)

async function converse({ target }: System, turns: number): Promise<Sample> {
  const threadId = await createThread(target)
  const durations: number[] = []
  for (let turn = 1; turn <= turns; turn++) {
    const asked = `${turn}: ${text}`
    const request = { assistant_id: "echo", input: userSays(asked) }
    const { ms, answer } = await timeCall(target, "POST", `/threads/${threadId}/runs/wait`, request)
    durations.push(ms)
    checkLast((JSON.parse(answer) as { messages: unknown[] }).messages, `echo: ${asked}`, 2 * turn)
  }
  const half = turns / 2
  const { ms, answer } = await timeCall(target, "POST", `/threads/${threadId}/history`, { limit: half })
  const states = JSON.parse(answer) as { values: { messages: unknown[] } }[]
  check(states.length === half, `the history has ${states.length} of ${half} states`)
  checkLast(states[0]?.values.messages, `echo: ${turns}: ${text}`, 2 * turns)
  const [early, late] = [durations.slice(half - 10, half), durations.slice(-10)]
  return { growthMs: median(late) - median(early), turnMs: median(late), historyMs: ms }
}
