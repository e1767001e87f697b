/**
 * Tokens that a program prints, as managed clusters have it (`exec` of a kubeconfig).
 *
 * EC1 The program is run without a shell and without questions, with a time limit, and never twice at the same time. EC2 A token is used until it
 * expires, or until the API server refuses it; a failure is the answer for a few seconds. EC3 The program gets the environment without the settings of Superstep; what it prints is in no message.
 * @see https://kubernetes.io/docs/reference/access-authn-authz/authentication/#client-go-credential-plugins
 */
import { dirname, resolve } from "node:path"
import { Secret } from "@superstep/toolkit/config/settings"
import { CommandFailed, runCommand } from "@superstep/toolkit/exec/run-command"
import { z } from "zod"
import { ClusterFailed, type TokenSource } from "./cluster.js"

const versions = ["client.authentication.k8s.io/v1", "client.authentication.k8s.io/v1beta1"] as const

/** `exec` of a kubeconfig's user. */
export const execSchema = z.object({
  apiVersion: z.enum(versions),
  command: z.string().min(1),
  args: z.array(z.string()).nullish(),
  env: z.array(z.object({ name: z.string().min(1), value: z.string() })).nullish(),
  provideClusterInfo: z.boolean().nullish(),
  interactiveMode: z
    .enum(["Never", "IfAvailable"], { error: "expected Never or IfAvailable: nobody can answer its questions" })
    .nullish(),
})
export type ExecConfig = z.infer<typeof execSchema>

const printedSchema = z.object({
  apiVersion: z.enum(versions),
  kind: z.literal("ExecCredential"),
  status: z.object({ token: z.string().min(1), expirationTimestamp: z.iso.datetime({ offset: true }).nullish() }),
})

export interface ExecPlace {
  /** The kubeconfig: a command with a slash is relative to its folder. */
  readonly file: string
  readonly environment: NodeJS.ProcessEnv
  /** As the kubeconfig has it. */
  readonly cluster: object
  /** Default: a minute. */
  readonly timeoutMs?: number
  /** How long after a failure its error is the answer, before the program runs again. Default: five seconds. */
  readonly pauseMs?: number
}

// A program may sign in over a network.
const usualTimeoutMs = 60_000
// Each request asks, and a sign-in service that fails is not to be asked by all of them.
const usualPauseMs = 5_000
// A token that is about to expire would be refused on its way.
const earlyMs = 10_000

interface Credential {
  readonly token: Secret
  /** Milliseconds since 1970. */
  readonly usableUntil: number
}

/** The program runs when a token is first asked for. @throws ClusterFailed  by `token`, when the program gives none */
export function execCredentials(exec: ExecConfig, place: ExecPlace): TokenSource {
  let last: Credential | undefined
  let running: Promise<Credential> | undefined
  let failure: { readonly error: unknown; readonly at: number } | undefined
  const { pauseMs = usualPauseMs } = place
  const renewed = (): Promise<Credential> => {
    if (failure && performance.now() - failure.at < pauseMs) return Promise.reject(failure.error)
    running ??= run(exec, place)
      .catch((error: unknown) => {
        failure = { error, at: performance.now() }
        throw error
      })
      .finally(() => {
        running = undefined
      })
    return running
  }
  return {
    token: async () => {
      if (!last || Date.now() >= last.usableUntil) last = await renewed()
      return last.token
    },
    refused: (token) => {
      if (last?.token === token) last = undefined
    },
  }
}

async function run(exec: ExecConfig, place: ExecPlace): Promise<Credential> {
  const { command, args, env, apiVersion, provideClusterInfo } = exec
  const { file, environment, cluster, timeoutMs = usualTimeoutMs } = place
  const program = command.includes("/") ? resolve(dirname(file), command) : command
  const spec = { interactive: false, ...(provideClusterInfo && { cluster }) }
  const info = JSON.stringify({ apiVersion, kind: "ExecCredential", spec })
  const own = Object.fromEntries((env ?? []).map(({ name, value }) => [name, value]))
  const failed = (why: string, cause: unknown) =>
    new ClusterFailed(
      `${file}: its program ${command} gives no token (${why}): run it as the user of the control plane to see why`,
      undefined,
      { cause },
    )
  try {
    const { stdout } = await runCommand({
      argv: [program, ...(args ?? [])],
      cwd: dirname(file),
      env: { ...inherited(environment), ...own, KUBERNETES_EXEC_INFO: info },
      timeoutMs,
    })
    return credentialIn(stdout)
  } catch (error) {
    if (error instanceof CommandFailed) throw failed(error.killedBy ?? `exit code ${error.exitCode}`, undefined)
    // What it printed may contain a token.
    if (error instanceof SyntaxError || error instanceof z.ZodError)
      throw failed("it printed no ExecCredential", undefined)
    throw failed(error instanceof Error ? error.message : String(error), error)
  }
}

function credentialIn(text: string): Credential {
  const { token, expirationTimestamp } = printedSchema.parse(JSON.parse(text)).status
  const usableUntil = expirationTimestamp ? Date.parse(expirationTimestamp) - earlyMs : Number.POSITIVE_INFINITY
  return { token: new Secret(token), usableUntil }
}

/** Its settings are variables, such as `AWS_PROFILE`; ours contain secrets. */
const inherited = (environment: NodeJS.ProcessEnv): Record<string, string> =>
  Object.fromEntries(
    Object.entries(environment).flatMap(([name, value]) =>
      value === undefined || /^(SUPERSTEP_|DATABASE_URI$)/.test(name) ? [] : [[name, value] as const],
    ),
  )
