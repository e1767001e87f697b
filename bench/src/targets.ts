/** What the agent server is to reach. "At least" is a promise, "aim" is where the work goes. */

/** Figures in the metric's own unit. */
export interface Target {
  /** The beginnings of the scenario's and the metric's names, so that numbers in them may change. */
  readonly scenario: string
  readonly metric: string
  readonly atLeast: number
  readonly aim: number
}

export const targets: readonly Target[] = [
  { scenario: "echo", metric: "first event p50", atLeast: 5, aim: 2.5 },
  { scenario: "echo", metric: "first event p99", atLeast: 25, aim: 15 },
  { scenario: "5 tokens", metric: "first token", atLeast: 8, aim: 5 },
  { scenario: "5 tokens", metric: "whole request", atLeast: 14, aim: 9 },
  { scenario: "one stream", metric: "tokens", atLeast: 13_000, aim: 15_800 },
  { scenario: "50 streams", metric: "tokens", atLeast: 9_000, aim: 13_000 },
  { scenario: "50 streams", metric: "first token", atLeast: 290, aim: 150 },
  { scenario: "wait, stateless, 1 client", metric: "request", atLeast: 7, aim: 4 },
  { scenario: "wait, stateless, 64 clients", metric: "requests", atLeast: 270, aim: 400 },
  { scenario: "thread, wait, state", metric: "rounds", atLeast: 180, aim: 300 },
  { scenario: "200 super-steps, 4 KB state, async", metric: "super-steps", atLeast: 650, aim: 900 },
  { scenario: "200 super-steps, 4 KB state, sync", metric: "super-steps", atLeast: 390, aim: 500 },
  { scenario: "200 joiners", metric: "events", atLeast: 80_000, aim: 100_000 },
  { scenario: "200 joiners", metric: "complete", atLeast: 200, aim: 200 },
  { scenario: "two burning graphs", metric: "/ok p99", atLeast: 80, aim: 25 },
  { scenario: "1000 slow streams", metric: "complete", atLeast: 1000, aim: 1000 },
  { scenario: "1000 slow streams", metric: "memory over idle", atLeast: 350, aim: 200 },
  { scenario: "1000 queued runs", metric: "runs", atLeast: 210, aim: 350 },
  { scenario: "pick-up", metric: "create to node", atLeast: 5.5, aim: 3 },
  { scenario: "a thread of 200 turns", metric: "growth", atLeast: 19, aim: 8 },
  { scenario: "a thread of 200 turns", metric: "history", atLeast: 1800, aim: 500 },
  { scenario: "fan-out over 500", metric: "request", atLeast: 620, aim: 350 },
  { scenario: "start", metric: "/ok", atLeast: 1000, aim: 600 },
  { scenario: "push to deploy", metric: "push to DEPLOYED", atLeast: 10_000, aim: 5000 },
  { scenario: "push to deploy", metric: "rollback to DEPLOYED", atLeast: 3000, aim: 1500 },
  { scenario: "20 sleeping deployments", metric: "processor", atLeast: 1, aim: 1 },
]

/** What a figure may be through the edge, as a multiple of the same figure without it. */
export const edgeTarget = { atLeast: 1.25, aim: 1.1 }

export const targetOf = (scenario: string, metric: string): Target | undefined =>
  targets.find((target) => scenario.startsWith(target.scenario) && metric.startsWith(target.metric))
