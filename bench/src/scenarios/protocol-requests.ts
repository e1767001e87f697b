/** Requests of the newer streaming protocol that several scenarios share. */
import { BenchFailed, callJson } from "../http-client.js"
import { openRawStream, type RawStream } from "../raw-stream.js"
import type { System } from "../systems/system.js"

/** @returns the id of the new run */
export async function startRun(system: System, threadId: string, graph: string, input: unknown): Promise<string> {
  const params = { assistant_id: graph, input }
  const reply = (await callJson(system.target, "POST", `/threads/${threadId}/commands`, {
    id: 1,
    method: "run.start",
    params,
  })) as { result?: { run_id?: string } }
  if (reply.result?.run_id === undefined) throw new BenchFailed(`run.start returned ${JSON.stringify(reply)}`)
  return reply.result.run_id
}

/** @param lastText  ends the reading when it arrives: the stream of a thread has no end */
export const readEvents = (
  system: System,
  threadId: string,
  channels: readonly string[],
  lastText: string,
): RawStream => openRawStream(system.target, `/threads/${threadId}/stream/events`, { body: { channels }, lastText })
