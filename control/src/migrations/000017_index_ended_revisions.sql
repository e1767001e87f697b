-- The metrics of the installation read the revisions that ended in the last hour, at every scrape.

create index revision_by_its_end on revisions (finished_at) where finished_at is not null;
