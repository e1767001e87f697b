/** How a program in a pod reaches its API server: the files and variables that each pod with a service account has. */
import { readFile } from "node:fs/promises"
import { join } from "node:path"
import { Secret } from "@superstep/toolkit/config/settings"
import { KnownError } from "@superstep/toolkit/errors/errors"
import { ifCode, missing } from "@superstep/toolkit/errors/if-code"
import type { ClusterAccess } from "./cluster.js"

export const accountFolder = "/var/run/secrets/kubernetes.io/serviceaccount"

// Each cluster's DNS has it, for programs that do not have the pod's variables.
const nameInCluster = "kubernetes.default.svc"

/** Where the cluster is, and who we are there, is unknown. */
export abstract class NoAccess extends KnownError {}

/** The program does not run in a pod, or its pod has no token. */
export class NotInCluster extends NoAccess {
  readonly code = "not_in_cluster"
  constructor() {
    super(
      "this process runs outside of a pod with a service account: start it in the cluster, with a token mounted, or set SUPERSTEP_KUBECONFIG (docs/kubernetes.md)",
    )
  }
}

/**
 * @returns  access, and the namespace of this pod
 * @throws NotInCluster
 */
export async function accessInCluster(
  environment: NodeJS.ProcessEnv,
  folder: string = accountFolder,
): Promise<{ readonly access: ClusterAccess; readonly namespace: string }> {
  const { KUBERNETES_SERVICE_HOST: host = nameInCluster, KUBERNETES_SERVICE_PORT: port = "443" } = environment
  const read = (name: string) => readFile(join(folder, name), "utf8").catch(ifCode(missing))
  const [authority, namespace, token] = await Promise.all([read("ca.crt"), read("namespace"), read("token")])
  if (namespace === undefined || token === undefined) throw new NotInCluster()
  return {
    namespace: namespace.trim(),
    access: {
      origin: `https://${host.includes(":") ? `[${host}]` : host}:${port}`,
      authority,
      // The kubelet replaces the file before the token in it expires.
      token: async () => new Secret((await readFile(join(folder, "token"), "utf8")).trim()),
    },
  }
}
