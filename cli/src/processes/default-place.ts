/** Default addresses of `superstep up`. */
export const defaultPlace = { host: "127.0.0.1", port: 8900, agentsPort: 8901 } as const
