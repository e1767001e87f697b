/** A whole platform with HTTPS, a port for plain HTTP and a certificate authority, and a deployment to give names to. */
import { request } from "node:https"
import { text } from "node:stream/consumers"
import { makeCertificate } from "@superstep/toolkit/testing/certificate"
import { freePort } from "@superstep/toolkit/testing/free-port"
import { temporaryFolder } from "@superstep/toolkit/testing/temporary-folder"
import { until } from "@superstep/toolkit/testing/until"
import { platformWithRepository } from "../../pipeline/testing/platform-with-repository.js"

interface RunningAuthority extends AsyncDisposable {
  readonly directoryUrl: string
  readonly caPem: string
  /** The certificate of its own address, if it speaks HTTPS. */
  readonly certFile?: string
}

export const hostName = "agent.example.com"

/**
 * @param startAuthority  starts one that fetches challenges at this port
 * @param settings        further settings of the control plane's first start
 */
export async function namedPlatform<Authority extends RunningAuthority>(
  startAuthority: (asked: { httpPort: number }) => Promise<Authority>,
  settings: Record<string, string> = {},
) {
  const httpPort = await freePort()
  const authority = await startAuthority({ httpPort })
  const { certFile, keyFile } = makeCertificate(temporaryFolder(), "platform.example.com")
  const env = {
    SUPERSTEP_TLS_CERT: certFile,
    SUPERSTEP_TLS_KEY: keyFile,
    SUPERSTEP_HTTP_PORT: String(httpPort),
    SUPERSTEP_ACME_EMAIL: "operator@example.com",
    SUPERSTEP_ACME_DIRECTORY: authority.directoryUrl,
    ...(authority.certFile !== undefined && { NODE_EXTRA_CA_CERTS: authority.certFile }),
  }
  const platform = await platformWithRepository({ ...env, ...settings })
  const { deploymentId } = await platform.serveRepository()
  const path = `/v2/deployments/${deploymentId}/host-names`

  /** Asks the agent at its host name, and trusts only the authority. */
  const askByName = () =>
    new Promise<{ status: number | undefined; body: string }>((resolve, reject) => {
      const { port } = new URL(platform.agentsUrl)
      const headers = { host: hostName, "x-api-key": platform.apiKey }
      const address = { host: "127.0.0.1", port, servername: hostName, path: "/ok", agent: false }
      const asked = request({ ...address, ca: authority.caPem, headers }, (response) =>
        text(response).then((body) => resolve({ status: response.statusCode, body }), reject),
      )
      asked.once("error", reject).end()
    })
  const addName = () => platform.call("POST", path, { name: hostName })
  const readName = async () => (await platform.call("GET", path)).body.resources[0]
  const untilServed = async () => {
    await until(async () => (await readName()).status === "active", { what: "the name is active" })
    return until(() => askByName().catch(() => undefined), { what: "callers get the certificate" })
  }
  const dispose = async () => {
    await platform[Symbol.asyncDispose]()
    await authority[Symbol.asyncDispose]()
  }
  return { authority, platform, path, env, addName, readName, untilServed, askByName, [Symbol.asyncDispose]: dispose }
}
