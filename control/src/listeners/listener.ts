/** Defines a listener: an agent in another data plane that asks the control plane for work. Pure. */
export interface ComputeConfig {
  readonly k8s_namespaces: readonly string[] | null
}

export interface Listener {
  readonly listener_id: string
  readonly workspace_id: string
  readonly compute_type: "k8s"
  /** The cluster that it serves. */
  readonly compute_id: string
  readonly compute_config: ComputeConfig
  /** Version of its program, as it reported it. */
  readonly version: string | null
  /** When its installation called last, accurate to ten seconds; null: never. */
  readonly last_seen_at: Date | null
  readonly created_at: Date
  readonly updated_at: Date
}
