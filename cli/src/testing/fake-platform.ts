/** A control plane whose replies a test decides, and a data folder whose keys are for it. */
import { listen } from "@superstep/toolkit/http/listen"
import { temporaryFolder } from "@superstep/toolkit/testing/temporary-folder"
import { writeCredentials } from "../home/credentials.js"
import { homeAt } from "../home/home.js"
import { type Ended, runCli } from "./run-cli.js"

export interface Asked {
  readonly method: string
  readonly path: string
  readonly key: string | null
  readonly tenant: string | null
  readonly body: unknown
}

export interface FakePlatform extends AsyncDisposable {
  readonly asked: readonly Asked[]
  run(...args: string[]): Promise<Ended>
}

/** @param reply  the body of a reply; undefined for one without content */
export async function fakePlatform(reply: (asked: Asked) => unknown): Promise<FakePlatform> {
  const asked: Asked[] = []
  const answer = async (request: Request) => {
    const { method, headers } = request
    const text = await request.text()
    const [path, key, tenant] = [new URL(request.url).pathname, headers.get("x-api-key"), headers.get("x-tenant-id")]
    const one = { method, path, key, tenant, body: text === "" ? undefined : JSON.parse(text) }
    asked.push(one)
    const body = reply(one)
    return body === undefined ? new Response(null, { status: 204 }) : Response.json(body)
  }
  const listening = await listen(answer, { host: "127.0.0.1", port: 0 })
  const home = temporaryFolder()
  const url = `http://127.0.0.1:${listening.port}`
  await writeCredentials(homeAt(home), { url, tenant_id: "w1", api_key: "of-w1", org_api_key: "of-all" })
  const run = (...args: string[]) => runCli([...args, "--home", home], { cwd: home })
  return { asked, run, [Symbol.asyncDispose]: () => listening.close(0) }
}
