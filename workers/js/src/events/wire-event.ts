/** One item of a run's stream before it is serialised: its name on the wire and its data. */
export interface WireEvent {
  readonly name: string
  readonly data: unknown
}
