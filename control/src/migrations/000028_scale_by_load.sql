-- A revision that serves has as many units as its load needs (docs/decisions/0031-replicas-by-load.md).

alter table revisions
  -- When a unit was last added for its load, or taken away.
  add column scaled_at timestamptz,
  -- When it was last seen to need all its units.
  add column loaded_at timestamptz;

alter table units
  -- Since when it is being taken away: it gets no more requests, and ends.
  add column leaving_since timestamptz;
