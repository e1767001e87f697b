/**
 * Owns one connection that listens for all channels of a process.
 * L1 `listen` returns after the channel is listened to; L2 after a lost connection every channel is listened to again, and
 * `onReconnect` is called; L3 `close` ends the connection and no callback comes after it; L4 a held name is held again after a
 * lost connection, as soon as no other session has it; L5 a connection to a host that does not answer any more is closed within a
 * minute: it is asked now and then, since a listener sends nothing by itself.
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
  /** False until its `listen` has returned: before that it has missed nothing. */
  isListening: boolean
}

// Long enough for a restarting Postgres, short enough that a missed wake-up does no harm.
const reconnectDelayMs = 250
const holdRetryMs = 1_000

// What is asked on this connection takes milliseconds.
const usualAnswerMs = 10_000
const usualPingMs = 30_000

export interface ListenTimes {
  /** How long a statement on the connection may take. */
  readonly answerMs?: number
  /** From one question whether the server is there to the next. */
  readonly pingMs?: number
}

export function listenOn(uri: string, log: Log, { answerMs = usualAnswerMs, pingMs = usualPingMs }: ListenTimes = {}) {
  const clientOptions = {
    keepAlive: true,
    keepAliveInitialDelayMillis: 10_000,
    connectionTimeoutMillis: 10_000,
    query_timeout: answerMs,
  }
  const channels = new Map<string, Set<Listener>>()
  const names = new Set<string>()
  const closing = new AbortController()
  /** The connection, or the attempt to open one. */
  let connection: Promise<pg.Client> | undefined
  /** The connection while it is usable: statements are sent to it in the order in which listeners come and go. */
  let client: pg.Client | undefined

  /** The statements of one connection, one after the other, in the order of the calls. */
  let lastSaid: Promise<unknown> = Promise.resolve()
  const say = (target: pg.Client, statement: string | pg.QueryConfig): Promise<pg.QueryResult> => {
    const answer = lastSaid.then(() => target.query(statement))
    // The next statement is sent in any case; the caller of this one gets the error.
    lastSaid = answer.catch((error: unknown) => (isLost(error) ? target.end() : undefined))
    return answer
  }

  const ping = () => {
    const asked = client
    // A lost connection is closed by `say`, and opened again when it has ended.
    if (asked)
      say(asked, "select").catch((err: unknown) => log.debug({ err }, "the listening connection did not answer"))
  }
  const pinging = setInterval(ping, pingMs).unref()

  const onNotification = ({ channel, payload = "" }: pg.Notification) => {
    if (closing.signal.aborted) return
    for (const { onNotify } of channels.get(channel) ?? []) invoke(() => onNotify(payload))
  }

  /** A listener that fails must not affect the others. */
  const invoke = (callback: () => void) => {
    try {
      callback()
    } catch (err) {
      log.error({ err }, "a listener failed")
    }
  }

  /** Connects and listens to every wanted channel. */
  const connect = async (): Promise<pg.Client> => {
    const fresh = new pg.Client({ connectionString: uri, ...clientOptions })
    fresh.on("notification", onNotification)
    fresh.on("error", (err) => log.warn({ err }, "the listening database connection failed"))
    fresh.once("end", () => onEnd(fresh))
    try {
      await fresh.connect()
      for (const channel of channels.keys()) await say(fresh, `listen ${quoted(channel)}`)
      for (const name of names) await holdAgain(fresh, name)
      closing.signal.throwIfAborted()
    } catch (error) {
      await fresh.end()
      throw error
    }
    client = fresh
    return fresh
  }

  const onEnd = (ended: pg.Client) => {
    if (client !== ended || closing.signal.aborted) return
    client = undefined
    connection = reconnect()
    // It fails only when the database is closed. A caller that waits for it gets the error; without one it is ignored.
    connection.catch(() => undefined)
  }

  const reconnect = async (): Promise<pg.Client> => {
    for (;;) {
      await sleep(reconnectDelayMs, undefined, { signal: closing.signal })
      try {
        const fresh = await connect()
        const listeners = [...channels.values()].flatMap((set) => [...set])
        for (const { isListening, onReconnect } of listeners) if (isListening && onReconnect) invoke(onReconnect)
        return fresh
      } catch (err) {
        log.warn({ err }, "the database does not answer yet")
      }
    }
  }

  const holdAgain = async (fresh: pg.Client, name: string): Promise<void> => {
    if (isTrue(await say(fresh, tryLock(name)))) return
    log.warn(
      { name },
      "a lock is held by another session: a former one of ours that Postgres has not closed yet, or another process",
    )
    holdLater(fresh, name).catch((err: unknown) => log.debug({ err, name }, "the connection for a lock was lost"))
  }

  /** Retries while this connection is in use: the next one starts over. */
  const holdLater = async (fresh: pg.Client, name: string): Promise<void> => {
    do await sleep(holdRetryMs, undefined, { signal: closing.signal, ref: false })
    while (client === fresh && !isTrue(await say(fresh, tryLock(name))))
  }

  /** The statement may be sent twice: when the connection is lost meanwhile, it is sent again on the next one. */
  const sayOnce = async (statement: string | pg.QueryConfig): Promise<pg.QueryResult> => {
    for (;;) {
      connection ??= connect().catch((error: unknown) => {
        connection = undefined
        throw error
      })
      const current = await connection
      try {
        return await say(current, statement)
      } catch (error) {
        if (!isLost(error) || closing.signal.aborted) throw error
        await current.end()
        onEnd(current)
      }
    }
  }

  const remove = async (channel: string, listener: Listener): Promise<void> => {
    const listeners = channels.get(channel)
    if (!listeners?.delete(listener) || listeners.size > 0) return
    channels.delete(channel)
    // If the connection is lost meanwhile, the next one does not listen to the channel at all.
    if (!client) return
    await say(client, `unlisten ${quoted(channel)}`).catch((err) => log.debug({ err, channel }, "unlisten failed"))
  }

  const listen = async (
    channel: string,
    onNotify: (payload: string) => void,
    onReconnect?: () => void,
  ): Promise<Subscription> => {
    closing.signal.throwIfAborted()
    const listener: Listener = { onNotify, onReconnect, isListening: false }
    channels.set(channel, (channels.get(channel) ?? new Set()).add(listener))
    try {
      await sayOnce(`listen ${quoted(channel)}`)
    } catch (error) {
      await remove(channel, listener)
      throw error
    }
    listener.isListening = true
    return { close: () => remove(channel, listener) }
  }

  const hold = async (name: string): Promise<boolean> => {
    closing.signal.throwIfAborted()
    const isHeld = isTrue(await sayOnce(tryLock(name)))
    if (isHeld) names.add(name)
    return isHeld
  }

  const close = async (): Promise<void> => {
    closing.abort(new Error("the database was closed"))
    clearInterval(pinging)
    // A connection that was never opened, or is being reopened, need not be closed.
    const last = await connection?.catch(() => undefined)
    await last?.end()
  }
  return { listen, hold, close }
}

const isLost = (error: unknown): boolean => !(error instanceof pg.DatabaseError) || error.severity === "FATAL"

const tryLock = (name: string): pg.QueryConfig => ({
  text: "select pg_try_advisory_lock(hashtextextended($1, 0)) as is_true",
  values: [name],
})

const isTrue = ({ rows }: pg.QueryResult<{ is_true: boolean }>): boolean => rows[0]?.is_true === true

const quoted = (channel: string): string => identifier(channel).render().text
