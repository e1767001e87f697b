/** What the control plane and a build send to each other, checked, and the files by which they do it (protocol/build). */
import { join } from "node:path"
import type * as sent from "@superstep/protocol/build/request"
import * as receivers from "@superstep/protocol/build/validators"
import { type Receiver, received } from "@superstep/protocol/schemas/received"
import { type BuildCode, isBuildCode } from "./faults/build-failed.js"
import type { BuildPlan, BuildStep } from "./project/build-step.js"

/** How long a step may take. */
export const stepLimitMs = ({ name }: Pick<BuildStep, "name">, { installMs, buildMs }: sent.BuildLimits): number =>
  name === "install" ? installMs : buildMs

export interface BuildRequest extends Omit<sent.BuildRequest, "plan"> {
  readonly plan: BuildPlan
}

export interface FailedBuild extends sent.FailedBuild {
  readonly error_code: BuildCode
}

export type BuildResult = sent.PublishedBuild | FailedBuild

/** What a build of this or another release sent is not what we understand. */
export class InvalidBuildMessage extends Error {}

/**
 * @param value  parsed JSON; unknown fields are removed from it
 * @throws InvalidBuildMessage  with the path of the first problem
 */
export function parseRequest(value: unknown): BuildRequest {
  const request = parseMessage<sent.BuildRequest>("request", receivers.BuildRequest, value)
  for (const { failure } of request.plan.steps) checkCode(failure)
  // The schema says that a command has a program.
  return request as BuildRequest
}

/** What is written of a request: a copy, checked as the build will. @throws InvalidBuildMessage */
export const checkedRequest = (request: BuildRequest): BuildRequest => parseRequest(JSON.parse(JSON.stringify(request)))

/** @param value  parsed JSON @throws InvalidBuildMessage */
export function parseResult(value: unknown): BuildResult {
  if ((value as BuildResult | null)?.outcome !== "failed") return parsePublished(value)
  const result = parseMessage<sent.FailedBuild>("result", receivers.FailedBuild, value)
  return { ...result, error_code: checkCode(result.error_code) }
}

/** @param value  parsed JSON @throws InvalidBuildMessage */
export const parsePublished = (value: unknown): sent.PublishedBuild =>
  parseMessage("result", receivers.PublishedBuild, value)

/** @param value  parsed JSON @throws InvalidBuildMessage */
export const parseSending = (value: unknown): sent.Sending => parseMessage("destination", receivers.Sending, value)

/** @param value  parsed JSON @throws InvalidBuildMessage */
export function parseFailure(value: unknown): Omit<FailedBuild, "outcome"> {
  const { error_code, message } = parseMessage<sent.BuildFailure>("failure", receivers.BuildFailure, value)
  return { error_code: checkCode(error_code), message }
}

function parseMessage<Message>(name: string, receiver: Receiver, value: unknown): Message {
  const it = received<Message>(receiver, value)
  if ("message" in it) return it.message
  const { path, message } = it.problem
  throw new InvalidBuildMessage(`the ${name} of the build is invalid: ${[...path, message].join(" ")}`)
}

function checkCode(code: string): BuildCode {
  if (isBuildCode(code)) return code
  throw new InvalidBuildMessage(`the build has an unknown error code: ${code}`)
}

export const buildLevels = ["INFO", "WARNING", "ERROR"] as const

export interface BuildLogLine {
  readonly at: string
  readonly level: (typeof buildLevels)[number]
  readonly message: string
}

/**
 * The setting that carries the deployment's own variables to the verify step, and to no other. It is in the file
 * `secrets`, not in the environment, where one variable holds at most 128 KiB: secrets together may be larger.
 */
export const agentEnvVariable = "SUPERSTEP_AGENT_ENV"

export const buildFiles = (folder: string) => ({
  request: join(folder, "request.json"),
  secrets: join(folder, "secrets.json"),
  identity: join(folder, "pid.json"),
  step: join(folder, "step.json"),
  log: join(folder, "build.log"),
  result: join(folder, "result.json"),
})
