/** Where things are in the containers of a build's pod, and what its Secret has in it. Pure. */
import { plainText, storableText } from "@superstep/toolkit/text/storable"
import { z } from "zod"
import type { FailedBuild } from "../build-request.js"
import { type BuildCodes, buildCodes } from "../faults/error-codes.js"

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

/** The settings of the container that sends the result. */
export interface Sending {
  readonly host: string
  readonly repository: string
  readonly homeId: string
  readonly artifactId: string
  readonly configPath: string
}

const codes = ["internal", ...(Object.keys(buildCodes) as (keyof BuildCodes)[])] as const

// A kubelet keeps 4096 bytes of it; JSON may double some characters.
const mostMessageBytes = 2000

/** Why a container ended without success: its termination message, which user code may have written. */
export const failure = z.object({
  error_code: z.enum(codes),
  message: z.string().transform((text) => storableText(text, mostMessageBytes)),
})

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

/** What a build has found in a project. */
export const verified = z.object({
  graphs: z.array(plainText),
  langgraph_version: plainText.max(200).nullable(),
  lacks_schemas: z.boolean(),
})
