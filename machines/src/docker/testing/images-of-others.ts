/** Images that nobody of ours has built, in a real registry: `docker build` makes them on the tests' base. */
import { spawnSync } from "node:child_process"
import { randomUUID } from "node:crypto"
import { writeFileSync } from "node:fs"
import { join } from "node:path"
import { temporaryFolder } from "@superstep/toolkit/testing/temporary-folder"
import { baseReference } from "./place.js"

/** A server in Python with nothing but its standard library: `/ok`, `/version`, `/env`, `/stream`, `/exit` and `/hang`. */
const server = (version: string) => `
import json, os, time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

hangs = False

class Handler(BaseHTTPRequestHandler):
    def do_GET(self):
        global hangs
        if hangs:
            time.sleep(3600)
        if self.path == "/exit":
            os._exit(3)
        if self.path == "/hang":
            hangs = True
        answers = {"/version": "${version}", "/env": json.dumps({**os.environ, "uid": os.getuid()}), "/ok": "ok", "/hang": "hangs"}
        body = answers.get(self.path.split("?")[0], "none").encode()
        self.send_response(200)
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)
    def log_message(self, *said):
        pass

print("guest ${version} starts", flush=True)
ThreadingHTTPServer(("0.0.0.0", int(os.environ["PORT"])), Handler).serve_forever()
`

/** Runs the engine's own command line. */
export function docker(...args: string[]): string {
  const env = { ...process.env, DOCKER_HOST: `unix://${process.env.SUPERSTEP_TEST_DOCKER ?? ""}`, DOCKER_BUILDKIT: "0" }
  const { status, stdout, stderr } = spawnSync("docker", args, { env, encoding: "utf8" })
  if (status !== 0) throw new Error(`docker ${args.join(" ")} failed (${status}): ${stderr}`)
  return stdout.trim()
}

const usualCommand = ["python3", "/server.py"]

/** @returns  the name of a new image in the engine: no other test has the same one, which it could remove or use */
export function imageOfOthers(name: string, version: string, command: readonly string[] = usualCommand): string {
  const folder = temporaryFolder()
  writeFileSync(join(folder, "server.py"), server(version))
  const id = `LABEL test.image=${randomUUID()}`
  const lines = [`FROM ${baseReference}`, id, "COPY server.py /server.py", `CMD ${JSON.stringify(command)}`]
  writeFileSync(join(folder, "Dockerfile"), lines.join("\n"))
  docker("build", "--quiet", "--tag", name, folder)
  return name
}

/** @returns  its name with its digest in the registry; the engine keeps nothing of it */
export function pushed(name: string, config?: string): string {
  docker(...(config === undefined ? [] : ["--config", config]), "push", "--quiet", name)
  const [digest = ""] = docker("image", "inspect", "--format", "{{index .RepoDigests 0}}", name).split("\n")
  docker("image", "rm", "--force", name)
  return digest
}

/** A folder with a `config.json` for a registry. */
export function credentialsFor(port: number, folder = temporaryFolder(), file = "config.json"): string {
  const auth = Buffer.from("robot:wonderful").toString("base64")
  writeFileSync(join(folder, file), JSON.stringify({ auths: { [`127.0.0.1:${port}`]: { auth } } }))
  return folder
}
