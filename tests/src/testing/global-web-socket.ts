/** Imported before an example that uses the browser's `WebSocket`. */
import { WebSocket } from "ws"

Object.assign(globalThis, { WebSocket })
