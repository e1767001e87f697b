/** Traffic on a deployment while it is changed: requests at a steady rate, and conversations that are always open. */
import { randomUUID } from "node:crypto"
import type { Client } from "@langchain/langgraph-sdk"

export interface Answer {
  /** Empty when all is well. */
  readonly failure: string
  /** When it was asked and when it was answered, in ISO 8601. */
  readonly askedAt: string
  readonly answeredAt: string
  readonly revision: string
}

export interface Requests {
  readonly answers: readonly Answer[]
  stop(): Promise<void>
}

/**
 * Sends so many requests a second, whether or not the ones before were answered: every tenth is a run. When this process
 * gets no processor for a while, what it missed is sent at once.
 */
export function keepAsking(url: string, { apiKey, perSecond }: { apiKey: string; perSecond: number }): Requests {
  const answers: Answer[] = []
  const open = new Set<Promise<void>>()
  const begin = performance.now()
  let count = 0
  const askOnce = () => {
    const askedAt = new Date().toISOString()
    const asked = ask(url, apiKey, count++ % 10 === 0).then((answer) => {
      answers.push({ ...answer, askedAt, answeredAt: new Date().toISOString() })
      open.delete(asked)
    })
    open.add(asked)
  }
  const timer = setInterval(() => {
    const due = ((performance.now() - begin) / 1000) * perSecond
    while (count < due) askOnce()
  }, 1000 / perSecond)
  const stop = async () => {
    clearInterval(timer)
    await Promise.all(open)
  }
  return { answers, stop }
}

async function ask(url: string, apiKey: string, isRun: boolean): Promise<Omit<Answer, "askedAt" | "answeredAt">> {
  const headers = { "content-type": "application/json", "x-api-key": apiKey }
  const input = { messages: [{ role: "user", content: "hi" }] }
  const [path, body] = isRun ? ["runs/wait", { assistant_id: "chat", input }] : ["assistants/search", { limit: 1 }]
  try {
    const reply = await fetch(`${url}/${path}`, { method: "POST", headers, body: JSON.stringify(body) })
    const text = await reply.text()
    const isRight = reply.status === 200 && text.includes(isRun ? "hello from" : "assistant_id")
    return { failure: isRight ? "" : `${reply.status} ${text}`, revision: reply.headers.get("x-revision-id") ?? "" }
  } catch (error) {
    return { failure: `${error} ${(error as Error).cause ?? ""}`, revision: "" }
  }
}

/** What one conversation gave: whole when it ended with `end` and no event is missing or came twice. */
export interface Conversation {
  readonly events: number
  readonly problem: string
  /** Of the agents that it heard. */
  readonly versions: readonly string[]
  /** In ISO 8601. */
  readonly endedAt: string
}

export interface Conversations {
  readonly ended: readonly Conversation[]
  /** Lets them end by themselves. */
  stop(): Promise<void>
}

/**
 * Keeps so many streams open: each that has ended is followed by another.
 * @param steps  events of one; a quarter of a second lies between two of them
 */
export function keepTalking(client: Client, { count, steps }: { count: number; steps: number }): Conversations {
  const untilItem = randomUUID()
  const ended: Conversation[] = []
  let isOver = false
  const talk = async (first: number) => {
    // They end one after the other, and not all in the same moment.
    for (let length = first; !isOver; length = steps) {
      const told = await converse(client, { count: 0, steps: length, everyMs: 250, untilItem })
      ended.push({ ...told, endedAt: new Date().toISOString() })
    }
  }
  const all = Array.from({ length: count }, (_, index) => talk(steps + Math.floor((steps * index) / count)))
  const stop = async () => {
    isOver = true
    await endTicks(client, untilItem)
    await Promise.all(all)
  }
  return { ended, stop }
}

/** Ends the runs of the graph `ticks` whose input has this `untilItem`. */
export const endTicks = (client: Client, untilItem: string): Promise<void> =>
  client.store.putItem(["tests"], untilItem, { isOver: true })

async function converse(
  client: Client,
  input: { count: number } & Record<string, unknown>,
): Promise<Omit<Conversation, "endedAt">> {
  const ticks: number[] = []
  const heard = new Set<string>()
  let status = "none"
  try {
    const { thread_id } = await client.threads.create()
    const stream = client.runs.stream(thread_id, "ticks", {
      input,
      streamMode: ["custom"],
      config: { recursion_limit: 5000 },
    })
    for await (const { event, data } of stream as AsyncIterable<{ event: string; data: unknown }>) {
      if (event === "custom") {
        const { tick, version } = data as { tick: number; version: string }
        ticks.push(tick)
        heard.add(version)
      }
      if (event === "end") status = (data as { status: string }).status
    }
    const { values } = await client.threads.getState<{ log: number[] }>(thread_id)
    const isWhole = ticks.length > 0 && ticks.every((tick, index) => tick === index)
    // The saved state has each step once, too: the run was executed once.
    const isRight = isWhole && JSON.stringify(values.log) === JSON.stringify(ticks)
    const problem = isRight && status === "success" ? "" : `${status}: ${ticks} ${values.log}`
    return { events: ticks.length, problem, versions: [...heard] }
  } catch (error) {
    return { events: ticks.length, problem: `${error}`, versions: [...heard] }
  }
}
