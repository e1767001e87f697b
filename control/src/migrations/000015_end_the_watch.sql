-- A revision is rolled back by itself only while it is watched. That the watch has ended well is kept, so that a unit which is silent
-- for a moment much later does not lose its requests and streams to an old one that is still draining.

alter table revisions add column watch_ended_at timestamptz;
