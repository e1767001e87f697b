/** How a program outside a cluster reaches its API server: a kubeconfig file with a token, a client certificate, or a program that prints tokens. */
import { readFile } from "node:fs/promises"
import { dirname, resolve } from "node:path"
import { Secret } from "@superstep/toolkit/config/settings"
import { ifCode, missing } from "@superstep/toolkit/errors/if-code"
import { parse } from "yaml"
import { z } from "zod"
import { NoAccess } from "./access.js"
import type { ClusterAccess } from "./cluster.js"
import { type ExecConfig, execCredentials, execSchema } from "./exec-credentials.js"

/** The file cannot be used, and why. */
export class UnusableKubeconfig extends NoAccess {
  readonly code = "unusable_kubeconfig"
}

const schema = z.object({
  "current-context": z.string().min(1),
  contexts: z.array(z.object({ name: z.string(), context: z.object({ cluster: z.string(), user: z.string() }) })),
  clusters: z.array(
    z.object({
      name: z.string(),
      cluster: z.object({
        server: z.url(),
        "certificate-authority": z.string().optional(),
        "certificate-authority-data": z.string().optional(),
        "insecure-skip-tls-verify": z.boolean().optional(),
      }),
    }),
  ),
  users: z.array(
    z.object({
      name: z.string(),
      user: z.object({
        token: z.string().optional(),
        tokenFile: z.string().optional(),
        "client-certificate": z.string().optional(),
        "client-certificate-data": z.string().optional(),
        "client-key": z.string().optional(),
        "client-key-data": z.string().optional(),
        // Of the current user only (below): other users may need what is unusable here.
        exec: z.unknown().optional(),
        "auth-provider": z.unknown().optional(),
      }),
    }),
  ),
})

/**
 * The current context of the file.
 * @param environment  of this process, for a program that prints tokens
 * @throws UnusableKubeconfig
 */
export async function accessByKubeconfig(file: string, environment: NodeJS.ProcessEnv): Promise<ClusterAccess> {
  const unusable: Unusable = (why, options) => new UnusableKubeconfig(`${file}: ${why}`, options)
  const text = await readFile(file, "utf8").catch(ifCode(missing))
  if (text === undefined) throw unusable("there is no such file")
  const config = parsed(text, unusable)
  const at = (path: string) => resolve(dirname(file), path)
  const contentOf = async (data: string | undefined, path: string | undefined): Promise<string | undefined> => {
    if (data !== undefined) return Buffer.from(data, "base64").toString()
    return path === undefined
      ? undefined
      : readFile(at(path), "utf8").catch((cause: unknown) => {
          throw unusable(`it names ${path}, which cannot be read`, { cause })
        })
  }
  const context = config.contexts.find(({ name }) => name === config["current-context"])?.context
  const cluster = config.clusters.find(({ name }) => name === context?.cluster)?.cluster
  const user = config.users.find(({ name }) => name === context?.user)?.user
  if (!cluster || !user) throw unusable(`its context ${config["current-context"]} names no cluster and user of it`)
  if (cluster["insecure-skip-tls-verify"])
    throw unusable("it skips the check of the server's certificate: give it the certificate-authority instead")
  const { token, tokenFile } = user
  const hasToken = token !== undefined || tokenFile !== undefined
  const exec = hasToken || user.exec == null ? undefined : execIn(user.exec, unusable)
  const certificate = await contentOf(user["client-certificate-data"], user["client-certificate"])
  const key = await contentOf(user["client-key-data"], user["client-key"])
  const hasClient = certificate !== undefined && key !== undefined
  if (!hasToken && !exec && !hasClient)
    throw unusable(
      user["auth-provider"] !== undefined
        ? "its user has an auth-provider, which Kubernetes has replaced by exec: write it anew (docs/kubernetes.md)"
        : "its user has neither a token, nor a program that prints one, nor a client certificate",
    )
  const authority = await contentOf(cluster["certificate-authority-data"], cluster["certificate-authority"])
  const data = authority && Buffer.from(authority).toString("base64")
  const info = { server: cluster.server, ...(data && { "certificate-authority-data": data }) }
  return {
    origin: new URL(cluster.server).origin,
    authority,
    ...(exec && execCredentials(exec, { file, environment, cluster: info })),
    ...(hasClient && { client: { certificate, key: new Secret(key) } }),
    ...(token !== undefined && { token: async () => new Secret(token) }),
    ...(tokenFile !== undefined && {
      token: async () => new Secret((await readFile(at(tokenFile), "utf8")).trim()),
    }),
  }
}

type Unusable = (why: string, options?: ErrorOptions) => UnusableKubeconfig

function parsed(text: string, unusable: Unusable) {
  try {
    return schema.parse(parse(text))
  } catch (cause) {
    throw unusable(`it is no kubeconfig with a current context${firstIssue(cause)}`, { cause })
  }
}

function execIn(value: unknown, unusable: Unusable): ExecConfig {
  const { data, error } = execSchema.safeParse(value)
  if (error) throw unusable(`the exec of its user cannot be used${firstIssue(error)}`, { cause: error })
  return data
}

function firstIssue(error: unknown): string {
  const [issue] = error instanceof z.ZodError ? error.issues : []
  return issue ? ` (${issue.path.join(".")}: ${issue.message})` : ""
}
