/** The floor, on a Unix socket. */
import { join } from "node:path"
import { pathTo } from "../paths.js"
import { type Kind, onSocket, type Place } from "./system.js"

export function floor({ folder }: Place): Kind {
  let count = 0
  return {
    name: "floor",
    saysEnd: true,
    pids: [],
    prepare: async () => {
      const socketPath = join(folder, `floor-${++count}.sock`)
      const argv = [process.execPath, pathTo("dist/floor/main.js"), socketPath] as const
      return { program: { argv, env: {}, logFile: join(folder, "floor.log") }, target: onSocket(socketPath) }
    },
  }
}
