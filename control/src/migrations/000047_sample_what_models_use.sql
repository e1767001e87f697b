-- What the models of a deployment's runs used since the sample before: their tokens, and how long runs took to the first one.

alter table traffic_samples
  -- Null: no unit counted them, since runs are not traced, none was there, or all are of an older release.
  add column input_tokens bigint,
  add column output_tokens bigint,
  -- From when a run could start to its first token; counts by the classes of protocol/unit.
  add column first_token_ms double precision,
  add column first_token_counts bigint[];
