/** Asks a Node process for its heap through its inspector: after everything that can be freed was freed. */
import { once } from "node:events"
import { WebSocket } from "ws"

export interface Heap {
  /** JavaScript objects, and memory outside of the heap that they hold (buffers). */
  readonly heapBytes: number
  readonly externalBytes: number
  /** What keeps the process busy: sockets, timers, requests, by kind. */
  readonly resources: Readonly<Record<string, number>>
}

const question = `(() => {
  const { heapUsed, external, arrayBuffers } = process.memoryUsage()
  const resources = {}
  for (const name of process.getActiveResourcesInfo()) resources[name] = (resources[name] ?? 0) + 1
  return JSON.stringify({ heapBytes: heapUsed, externalBytes: external + arrayBuffers, resources })
})()`

/** @param log  what a process printed that was started with `--inspect=127.0.0.1:0` */
export async function readHeap(log: string): Promise<Heap> {
  const [address] = /ws:\/\/127\.0\.0\.1:\S+/.exec(log) ?? []
  if (address === undefined) throw new Error("the process has no inspector")
  const socket = new WebSocket(address)
  await once(socket, "open")
  try {
    const ask = questions(socket)
    // Twice: what the first pass finalizes is freed by the second.
    await ask("HeapProfiler.collectGarbage", {})
    await ask("HeapProfiler.collectGarbage", {})
    const answer = await ask("Runtime.evaluate", { expression: question, returnByValue: true })
    return JSON.parse(answer.result.value) as Heap
  } finally {
    socket.close()
    await once(socket, "close")
  }
}

/** One question at a time, as the protocol of the inspector has it: an id, a method, and the reply with the same id. */
function questions(socket: WebSocket) {
  let id = 0
  return async (method: string, params: object): Promise<{ result: { value: string } }> => {
    const mine = ++id
    socket.send(JSON.stringify({ id: mine, method, params }))
    for (;;) {
      const [data] = await once(socket, "message")
      const message = JSON.parse(String(data))
      if (message.id === mine) return message.result
    }
  }
}
