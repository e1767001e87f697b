/** Where things are in the containers of a build's pod, and what its Secret has in it. Pure. */
import { type StorableText, storableText } from "@superstep/toolkit/text/storable"
import { type FailedBuild, InvalidBuildMessage, parseFailure } from "../build-request.js"
import type { BuildCode } from "../faults/build-failed.js"

const work = "/superstep/work"

export const inJob = {
  /** Of the image: the tree as it was fetched. */
  source: "superstep/source",
  /** Shared by the containers. User code writes here, so nothing in it is trusted. */
  work,
  tree: `${work}/tree`,
  home: `${work}/home`,
  cache: `${work}/cache`,
  artifact: `${work}/artifact`,
  result: `${work}/result.json`,
  /** Only of the container that sends the result. */
  layers: "/superstep/layers",
  /** Folders with files of the Secret. */
  request: "/superstep/request",
  variables: "/superstep/variables",
  sending: "/superstep/sending",
} as const

/** The containers, in the order in which they run. */
export const parts = ["build", "verify", "push"] as const
export type Part = (typeof parts)[number]

/** The files of the Secret. Each container sees only those that it needs. */
export const secretFiles = {
  request: "request.json",
  variables: "variables.json",
  sending: "sending.json",
  login: "config.json",
} as const

// A kubelet keeps 4096 bytes of it; JSON may double some characters.
const mostMessageBytes = 2000

/**
 * Why a container ended without success.
 * @param text  its termination message, which user code may have written
 * @returns     undefined when it is none of ours
 */
export function failureIn(
  text: string,
): { readonly error_code: BuildCode; readonly message: StorableText } | undefined {
  try {
    const { error_code, message } = parseFailure(JSON.parse(text))
    return { error_code, message: storableText(message, mostMessageBytes) }
  } catch (error) {
    if (error instanceof SyntaxError || error instanceof InvalidBuildMessage) return undefined
    throw error
  }
}

export const failureText = ({ error_code, message }: Pick<FailedBuild, "error_code" | "message">): string =>
  JSON.stringify({
    error_code,
    message: Buffer.from(message)
      .subarray(0, mostMessageBytes)
      .toString()
      .replace(/\ufffd$/, ""),
  })

/** @param events  the files of a control group that count them */
export const countOomKills = (events: string): number => Number(/^oom_kill (\d+)$/m.exec(events)?.[1] ?? 0)
