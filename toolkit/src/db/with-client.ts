/** One connection for one task, where a pool would be too much: migrations, creating databases. */
import pg from "pg"

// As for a pool (database.ts).
const clientOptions = { keepAlive: true, keepAliveInitialDelayMillis: 10_000, connectionTimeoutMillis: 10_000 }

/** Connects, runs `work`, disconnects. When the connection is lost, the statement under way fails with that error. */
export async function withClient<T>(uri: string, work: (client: pg.Client) => Promise<T>): Promise<T> {
  const client = new pg.Client({ connectionString: uri, ...clientOptions })
  // The waiting statement, or the next one, throws the same error; without a listener the event would end the process.
  client.on("error", () => undefined)
  await client.connect()
  try {
    return await work(client)
  } finally {
    await client.end()
  }
}
