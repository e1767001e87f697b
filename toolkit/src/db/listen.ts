/**
 * Owns one connection that listens for all channels of a process.
 * L1 a channel is listened to before `listen` returns; L2 after a lost connection every channel is listened to again
 * and told so by `onReconnect`; L3 `close` ends the connection and no callback comes after it.
 */
import { setTimeout as sleep } from "node:timers/promises"
import pg from "pg"
import type { Log } from "../log/log.js"
import { identifier } from "./sql.js"

export interface Subscription {
  close(): Promise<void>
}

interface Listener {
  readonly onNotify: (payload: string) => void
  readonly onReconnect: (() => void) | undefined
}

// Long enough to let a restarting Postgres come up, short enough that nobody waits for a missed wake-up.
const reconnectDelayMs = 250

export function listenOn(uri: string, log: Log) {
  const channels = new Map<string, Set<Listener>>()
  let connection: Promise<pg.Client> | undefined
  let closed = false

  const connect = async (): Promise<pg.Client> => {
    const client = new pg.Client({ connectionString: uri, keepAlive: true })
    client.on("notification", ({ channel, payload }) => {
      for (const listener of channels.get(channel) ?? []) listener.onNotify(payload ?? "")
    })
    client.on("error", (err) => log.warn({ err }, "the listening database connection failed"))
    client.once("end", () => {
      if (connection === undefined || closed) return
      connection = reconnect()
    })
    await client.connect()
    return client
  }

  const reconnect = async (): Promise<pg.Client> => {
    for (;;) {
      await sleep(reconnectDelayMs)
      if (closed) throw new Error("the database was closed")
      try {
        const client = await connect()
        for (const channel of channels.keys()) await client.query(`listen ${identifier(channel).render().text}`)
        for (const listeners of channels.values()) for (const { onReconnect } of listeners) onReconnect?.()
        return client
      } catch (err) {
        log.warn({ err }, "the database does not answer yet")
      }
    }
  }

  const listen = async (
    channel: string,
    onNotify: (payload: string) => void,
    onReconnect?: () => void,
  ): Promise<Subscription> => {
    connection ??= connect().catch((error: unknown) => {
      connection = undefined
      throw error
    })
    const client = await connection
    const listener: Listener = { onNotify, onReconnect }
    const listeners = channels.get(channel) ?? new Set()
    channels.set(channel, listeners.add(listener))
    if (listeners.size === 1) await client.query(`listen ${identifier(channel).render().text}`)
    return {
      close: async () => {
        listeners.delete(listener)
        if (listeners.size > 0 || closed) return
        channels.delete(channel)
        const current = await connection
        await current?.query(`unlisten ${identifier(channel).render().text}`)
      },
    }
  }

  const close = async () => {
    closed = true
    const current = connection
    connection = undefined
    // A connection that was never made, or is being made again, has nothing to end.
    const client = await current?.catch(() => undefined)
    await client?.end()
  }
  return { listen, close }
}
