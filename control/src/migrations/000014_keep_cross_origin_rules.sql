-- What a unit says about web pages of other origins: the edge answers preflights by it, also for one that sleeps.
alter table units
  add column cross_origin jsonb;
