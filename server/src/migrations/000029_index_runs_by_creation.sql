-- Runs of all threads, newest first, a page at a time (`POST /runs/search`).
create index runs_by_creation on runs (created_at, run_id);
