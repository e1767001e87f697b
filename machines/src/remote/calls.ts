/**
 * What the control plane may ask of the machine process, and the arguments that are accepted. The machine process has the rights of root and
 * the control plane does not: whatever passes here must be harmless when somebody else has taken the control plane over. No argument
 * is a path, but for the one of `langgraph.json` in a project, which stays in it.
 */
import { isAbsolute } from "node:path"
import type { Edge } from "@superstep/edge/port"
import { readTable } from "@superstep/edge/table"
import { Secret } from "@superstep/toolkit/config/settings"
import { messageOf } from "@superstep/toolkit/http/message-of"
import { z } from "zod"
import type { Facts } from "../parts/compose-machine.js"
import type { Host, KeyFiles } from "../port/host.js"
import type { Artifacts, BuildSource, Builds, ForeignImage, SchemaSource, UnitSpec, Units } from "../port/port.js"
import type { AnyFunction } from "./values.js"

export interface Installation {
  facts(): Promise<Facts>
  stopAll: Host["stopAll"]
  /**
   * Calls `onSignal` for each stop signal that the machine process gets, also for earlier ones.
   * @returns  a function that ends this
   */
  onSignal(onSignal: (signal: NodeJS.Signals) => void): Promise<() => void>
}

export interface Areas {
  readonly units: Omit<Units, "address">
  readonly builds: Builds
  readonly artifacts: Artifacts
  readonly edge: Omit<Edge, "url">
  readonly keyFiles: KeyFiles
  readonly installation: Installation
}

/** A schema of the arguments of each function. */
type Table = { readonly [A in keyof Areas]: { readonly [M in keyof Areas[A]]: z.ZodType<readonly unknown[]> } }

/** One part of a path, whatever it names: it cannot lead out of its folder. */
const id = z.string().regex(/^[\w-]{1,80}$/, "expected an id")
const ids = z.array(id)
const text = z
  .string()
  .max(100_000)
  .regex(/^[^\0]*$/, "expected no NUL")
const offset = z.int().min(0)
const milliseconds = z.number().min(0)
const secret = z.instanceof(Secret)
const secrets = z.record(z.string().regex(/^[^=\0]+$/, "expected the name of a variable"), secret)
/** 0 is the edge's. */
const deploymentNumber = z.int().min(1)
const configPath = text.refine(
  (path) => path !== "" && !isAbsolute(path) && !path.split("/").includes(".."),
  "expected a path inside the project",
)
const callback = <T extends AnyFunction>() => z.custom<T>((value) => typeof value === "function", "expected a function")
/** A function of the control plane that returns a text. */
const askText = callback<(argument: string) => Promise<unknown>>().transform(
  (ask) => async (argument: string) => z.string().parse(await ask(argument)),
)
const amount = z.number().positive().optional()

/** A schema for every field: `z.object` drops what it does not know, so one that is forgotten must not compile. */
type Fields<T> = Readonly<Record<keyof T, z.ZodType>>

const unitSpec = z.object({
  unitId: id,
  deploymentId: id,
  deploymentNumber,
  name: text,
  revisionId: id,
  artifactId: id,
  platform: text.optional(),
  configPath,
  token: secret,
  databaseUri: secret,
  poolSize: z.int().min(1),
  secrets,
  memoryMb: amount,
  limits: z.object({ memoryMb: amount, cpu: amount } satisfies Fields<UnitSpec["limits"]>),
} satisfies Fields<UnitSpec>)

const source = z.object({
  revisionId: id,
  deploymentId: id,
  deploymentNumber,
  treeHash: id,
  configPath,
  installCommand: text.nullable(),
  buildCommand: text.nullable(),
} satisfies Fields<BuildSource>)

const none = z.tuple([])

export const table = {
  units: {
    start: z.tuple([unitSpec]),
    status: z.tuple([id]),
    logs: z.tuple([id, text]),
    watchLogs: z.tuple([id, callback<() => void>(), callback<() => void>().optional()]),
    memoryMb: z.tuple([ids]),
    usage: z.tuple([ids]),
    kill: z.tuple([id]),
    stop: z.tuple([id, z.object({ graceMs: milliseconds })]),
    remove: z.tuple([id]),
    list: none,
  },
  builds: {
    prepare: z.tuple([id]),
    hasTree: z.tuple([id]),
    plan: z.tuple([source]),
    start: z.tuple([source, secrets]),
    state: z.tuple([id]),
    logs: z.tuple([id, offset]),
    watch: z.tuple([id, callback<() => void>()]),
    forgetResult: z.tuple([id]),
    stop: z.tuple([z.set(id).optional()]),
    remove: z.tuple([id]),
    list: none,
  },
  artifacts: {
    has: z.tuple([id]),
    platforms: z.tuple([deploymentNumber]),
    adoptImage: z.tuple([
      z.object({ deploymentId: id, reference: text, pullSecrets: z.array(text) } satisfies Fields<ForeignImage>),
      z.instanceof(AbortSignal),
    ]),
    readSchemas: z.tuple([
      z.object({ artifactId: id, deploymentNumber, configPath } satisfies Fields<SchemaSource>),
      z.instanceof(AbortSignal),
    ]),
    remove: z.tuple([id]),
    list: none,
    usedMb: z.tuple([id, ids]),
    removeCache: z.tuple([id]),
    caches: none,
  },
  edge: {
    push: z.tuple([messageOf(readTable), askText.optional()]),
    status: none,
    tables: none,
    ensure: none,
    isAlive: none,
  },
  keyFiles: {
    read: z.tuple([z.enum(["operator", "present", "next"])]),
    writeFirst: z.tuple([text]),
    promoteNext: none,
    removeNext: none,
  },
  installation: {
    facts: none,
    stopAll: z.tuple([milliseconds]),
    onSignal: z.tuple([callback<(signal: NodeJS.Signals) => void>()]),
  },
} satisfies Table
