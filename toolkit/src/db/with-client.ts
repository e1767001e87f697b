/** One connection for one piece of work, where a pool would be too much: migrations, creating databases. */
import pg from "pg"

/** Connects, works, disconnects. When the connection is lost, the statement under way fails with that. */
export async function withClient<T>(uri: string, work: (client: pg.Client) => Promise<T>): Promise<T> {
  const client = new pg.Client({ connectionString: uri })
  // The statement that waits, or the next one, throws the same error; without a listener the event would end the process.
  client.on("error", () => undefined)
  await client.connect()
  try {
    return await work(client)
  } finally {
    await client.end()
  }
}
