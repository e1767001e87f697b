/**
 * What a git host asks for in `Retry-After`. Git prints no header of an answer, but it can trace headers into a file; it hides the values of
 * those with credentials. A request of our own would be one more to a host that has too many. Over ssh and git:// a host cannot say it.
 */
import { randomUUID } from "node:crypto"
import { open, rm } from "node:fs/promises"
import { join } from "node:path"
import { ifCode, missing } from "@superstep/toolkit/errors/if-code"
import { makeOwnFolder } from "@superstep/toolkit/files/own-folder"
import { askedWaitMs } from "@superstep/toolkit/webhooks/send"
import { httpUrl } from "./git-location.js"

export interface HttpTrace {
  /** For the environment of git. */
  readonly variables: Readonly<Record<string, string>>
  /** For how long the last answer asks to be left alone, in milliseconds; 0 when it does not. */
  askedMs(): Promise<number>
  remove(): Promise<void>
}

const none: HttpTrace = { variables: {}, askedMs: async () => 0, remove: async () => undefined }

/**
 * @param folder  of the repository, where the disk that a fetch uses is limited: a host can cause requests without end. Without it
 *                the file is in `keysFolder`, for one listing of refs
 */
export async function traceHttp(
  repoUrl: string,
  command: string | undefined,
  { folder, keysFolder }: { readonly folder: string | undefined; readonly keysFolder: string },
): Promise<HttpTrace> {
  if (!httpUrl(repoUrl) || (command !== "ls-remote" && command !== "fetch")) return none
  if (folder === undefined) await makeOwnFolder(keysFolder, 0o700)
  const file = folder === undefined ? join(keysFolder, `trace-${randomUUID()}`) : join(folder, ".git", "http-trace")
  return {
    variables: { GIT_TRACE_CURL: file, GIT_TRACE_CURL_NO_DATA: "1" },
    askedMs: async () => askedWaitIn(await endOf(file), Date.now()),
    remove: () => rm(file, { force: true }),
  }
}

// All headers of an answer that git accepts fit into it, as it traces them.
const mostTraceBytes = 1024 * 1024

async function endOf(path: string): Promise<string> {
  const file = await open(path).catch(ifCode(missing))
  if (!file) return ""
  try {
    const { size } = await file.stat()
    const start = Math.max(0, size - mostTraceBytes)
    const { buffer, bytesRead } = await file.read({ buffer: Buffer.alloc(size - start), position: start })
    return buffer.toString("latin1", 0, bytesRead)
  } finally {
    await file.close()
  }
}

const received = "<= Recv header: "

/**
 * Pure. @param trace  as `GIT_TRACE_CURL` has it
 * @param now  milliseconds since 1970
 */
export function askedWaitIn(trace: string, now: number): number {
  const headers = trace.split("\n").flatMap((line) => {
    const at = line.indexOf(received)
    return at < 0 ? [] : [line.slice(at + received.length).trim()]
  })
  // HTTP/2 has no version and no words.
  const last = headers.slice(headers.findLastIndex((line) => /^HTTP\/[\d.]+ \d{3}/.test(line)))
  const asked = last.map((line) => /^retry-after:(.*)$/i.exec(line)?.[1]).find((value) => value !== undefined)
  return askedWaitMs(asked?.trim(), now)
}
