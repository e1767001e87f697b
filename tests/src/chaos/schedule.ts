/** Which conversations are held in a round and what is killed in it. Pure: it follows from chance alone. */
import { join } from "node:path"
import type { Random } from "@superstep/toolkit/testing/seeded-random"
import type { Conversation } from "./conversation.js"
import { disturbances, type Kill, points, targets } from "./kill.js"

export interface Round {
  readonly number: number
  readonly conversations: readonly Conversation[]
  /** One after the other. Two at most: a run survives two losses, and the third is one too many (R5). */
  readonly strikes: readonly Strike[]
}

export interface Strike extends Kill {
  /** How many are killed at once; of a worker or a server there are several. */
  readonly count: number
  /** How long to wait before it, in milliseconds; where the point is random. */
  readonly delayMs: number
  /** How long what was killed, paused or cut off stays away, in milliseconds. */
  readonly awayMs: number
}

/** What happens to more than two servers beside kills. */
export interface Disturbed {
  /** Longer than a lease, in milliseconds. */
  readonly pauseMs: number
  /** How long the servers may have no way to Postgres, in milliseconds. */
  readonly cutMs: readonly number[]
}

export interface RoundPlace {
  /** For files of the round. */
  readonly folder: string
  readonly disturbed?: Disturbed | undefined
}

/**
 * The n-th round: the points come in turn, each with another target the next time, and all else is chance. Where servers
 * are disturbed too, three of four rounds have a disturbance after the kill, each kind in turn.
 */
export function roundOf(number: number, random: Random, { folder, disturbed }: RoundPlace): Round {
  const point = points[number % points.length] ?? "random"
  const target = targets[(number + Math.floor(number / points.length)) % targets.length] ?? "worker"
  const first = strikeOf({ point, target }, random)
  const chance = strikeOf({ point: "random", target: random.pick(["worker", ...targets]) }, random)
  const second = disturbed ? (disturbanceOf(number, random, disturbed) ?? chance) : chance
  // What the first strike waits for is a run of `steps` that nobody else has in his hands.
  const chanceOf = disturbed ? longChanceOf : shortChanceOf
  const main = shortChanceOf(`r${number}c0`, "steps", random)
  const names = Array.from({ length: random.between(3, 5) }, (_, n) => `r${number}c${n + 1}`)
  const others = names.map((name) => chanceOf(name, random.pick(["steps", "steps", "fan", "ask"] as const), random))
  const isAtEnd = point === "between checkpoint and status" || point === "during the final write"
  const gate = isAtEnd ? { gate: join(folder, `gate-${number}`) } : {}
  const conversations = [{ ...main, turns: 1, isStreamed: true, ...gate }, ...others]
  return { number, conversations, strikes: [first, second] }
}

function disturbanceOf(number: number, random: Random, { pauseMs, cutMs }: Disturbed): Strike | undefined {
  // Else a point would meet the same disturbance each time.
  const turn = number + Math.floor(number / (2 * points.length))
  const target = disturbances[turn % (disturbances.length + 1)]
  if (target === undefined) return undefined
  const awayMs = target === "network" ? random.pick(cutMs) : pauseMs
  return { point: "random", target, count: 1, delayMs: random.between(0, 400), awayMs }
}

function strikeOf(kill: Kill, random: Random): Strike {
  const count = kill.target === "worker" ? random.between(1, 4) : 1
  return { ...kill, count, delayMs: random.between(0, 400), awayMs: random.pick([0, 0, 50, 300]) }
}

/** Three seconds and more, so still under way when a disturbance comes after a kill; somebody joins it, and some are cancelled. */
function longChanceOf(name: string, graph: Conversation["graph"], random: Random): Conversation {
  const conversation = shortChanceOf(name, graph, random)
  const steps = random.between(20, 40)
  const stepMs = random.pick([80, 160, 240])
  const isAlone = graph === "steps" && conversation.turns === 1
  const isCancelled = isAlone && conversation.isStreamed && random.next() < 0.4
  return { ...conversation, steps, stepMs, isCancelled, isJoined: isAlone && !isCancelled && random.next() < 0.5 }
}

function shortChanceOf(name: string, graph: Conversation["graph"], random: Random): Conversation {
  return {
    name,
    graph,
    durability: random.pick(["sync", "sync", "async", "exit"] as const),
    turns: graph === "steps" ? random.between(1, 2) : 1,
    isStreamed: random.next() < 0.6,
    steps: random.between(4, 12),
    stepMs: random.pick([10, 20, 40]),
    tokens: random.between(1, 3),
    branches: random.between(2, 6),
  }
}
