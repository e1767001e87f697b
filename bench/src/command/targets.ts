/** Targets of the agent server. "At least" must be reached, "aim" is the goal of further work. */

/** Figures in the metric's own unit, or as a ratio to the floor of the same run. */
export interface Target {
  /** Prefixes of the scenario's and the metric's names, so that numbers in the names may change. */
  readonly scenario: string
  readonly metric: string
  readonly atLeast: number
  readonly aim: number
  /** The figures are ratios, because the speed of machines differs and varies over time. */
  readonly isRatio?: true
}

const isRatio = true

export const targets: readonly Target[] = [
  { scenario: "echo", metric: "first event p50", atLeast: 4, aim: 3, isRatio },
  { scenario: "echo", metric: "first event p99", atLeast: 25, aim: 15 },
  { scenario: "5 tokens", metric: "first token", atLeast: 8, aim: 5 },
  { scenario: "5 tokens", metric: "whole request", atLeast: 2, aim: 1.6, isRatio },
  { scenario: "processor time, 5 tokens", metric: "each run", atLeast: 1.8, aim: 1.5, isRatio },
  { scenario: "one stream", metric: "tokens", atLeast: 0.95, aim: 1.2, isRatio },
  { scenario: "one stream", metric: "processor time", atLeast: 1.5, aim: 1.25, isRatio },
  { scenario: "50 streams", metric: "tokens", atLeast: 1, aim: 1.3, isRatio },
  { scenario: "50 streams", metric: "first token", atLeast: 1.3, aim: 1, isRatio },
  { scenario: "wait, stateless, 1 client", metric: "request", atLeast: 2.5, aim: 2, isRatio },
  { scenario: "wait, stateless, 64 clients", metric: "requests", atLeast: 0.85, aim: 1, isRatio },
  { scenario: "wait, stateless, 64 clients", metric: "processor time", atLeast: 2, aim: 1.6, isRatio },
  { scenario: "state of a thread", metric: "request", atLeast: 2.5, aim: 2, isRatio },
  { scenario: "thread, wait, state", metric: "rounds", atLeast: 0.7, aim: 0.9, isRatio },
  { scenario: "thread, wait, state", metric: "processor time", atLeast: 2.5, aim: 2, isRatio },
  { scenario: "200 super-steps, 4 KB state, async", metric: "super-steps", atLeast: 0.7, aim: 0.85, isRatio },
  { scenario: "200 super-steps, 64 KB state, async", metric: "super-steps", atLeast: 0.65, aim: 0.8, isRatio },
  { scenario: "200 super-steps, 4 KB state, sync", metric: "super-steps", atLeast: 390, aim: 500 },
  { scenario: "200 joiners", metric: "events", atLeast: 80_000, aim: 100_000 },
  { scenario: "200 joiners", metric: "complete", atLeast: 200, aim: 200 },
  { scenario: "200 readers of one thread", metric: "events", atLeast: 80_000, aim: 100_000 },
  { scenario: "200 readers of one thread", metric: "complete", atLeast: 200, aim: 200 },
  { scenario: "a replay of 10000 events", metric: "events", atLeast: 80_000, aim: 100_000 },
  { scenario: "echo, newer protocol", metric: "newer ÷ older", atLeast: 1.15, aim: 1.05 },
  { scenario: "two burning graphs", metric: "/ok p99", atLeast: 80, aim: 25 },
  { scenario: "1000 slow streams", metric: "complete", atLeast: 1000, aim: 1000 },
  { scenario: "1000 slow streams", metric: "memory over idle", atLeast: 350, aim: 250 },
  { scenario: "1000 queued runs", metric: "runs", atLeast: 0.6, aim: 0.8, isRatio },
  { scenario: "1000 queued runs", metric: "processor time", atLeast: 2.5, aim: 2, isRatio },
  { scenario: "pick-up", metric: "create to node", atLeast: 2, aim: 1.5, isRatio },
  { scenario: "a thread of 200 turns", metric: "growth", atLeast: 1.2, aim: 0.6, isRatio },
  { scenario: "a thread of 200 turns", metric: "history", atLeast: 0.6, aim: 0.2, isRatio },
  { scenario: "fan-out over 500", metric: "request", atLeast: 620, aim: 350 },
  { scenario: "start", metric: "/ok", atLeast: 3, aim: 2, isRatio },
  { scenario: "a database of", metric: "ratio", atLeast: 1.5, aim: 1.1 },
  { scenario: "10 servers", metric: "ratio: rate", atLeast: 0.8, aim: 1 },
  { scenario: "10 servers", metric: "ratio: commit p50", atLeast: 1.5, aim: 1.1 },
  { scenario: "10 servers", metric: "connections", atLeast: 5, aim: 5 },
  { scenario: "push to deploy", metric: "push to DEPLOYED", atLeast: 10_000, aim: 4000 },
  { scenario: "push to deploy", metric: "rollback to DEPLOYED", atLeast: 3000, aim: 1500 },
  { scenario: "20 sleeping deployments", metric: "processor", atLeast: 0.5, aim: 0.5 },
  { scenario: "200 sleeping deployments", metric: "processor", atLeast: 2, aim: 1 },
  { scenario: "50 awake deployments", metric: "processor", atLeast: 5, aim: 3 },
]

/** Targets of figures through the edge, as multiples of the same figures without it. */
export const edgeTarget = { atLeast: 1.2, aim: 1.1 }

export interface PythonTarget extends Omit<Target, "isRatio"> {
  /** What the figure of graphs in Python is divided by: that of their floor, or of graphs in JavaScript. Nothing if absent. */
  readonly base?: "pythonFloor" | "pythonServer"
}

export const pythonTargets: readonly PythonTarget[] = [
  { scenario: "echo", metric: "first event p50", atLeast: 1.3, aim: 1.1, base: "pythonServer" },
  { scenario: "50 streams", metric: "tokens", atLeast: 0.9, aim: 1.2, base: "pythonFloor" },
  { scenario: "Python graphs that compute", metric: "ratio", atLeast: 1.7, aim: 1.9 },
]

const isOf = (scenario: string, metric: string) => (target: Pick<Target, "scenario" | "metric">) =>
  scenario.startsWith(target.scenario) && metric.startsWith(target.metric)

export const pythonTargetOf = (scenario: string, metric: string): PythonTarget | undefined =>
  pythonTargets.find(isOf(scenario, metric))

export const targetOf = (scenario: string, metric: string): Target | undefined => targets.find(isOf(scenario, metric))
