-- Uploaded archives were files of one computer, beside the rows that name them. In the database every control plane finds them, and a
-- row and its archive change in one transaction. The first start of this release stores the files that it finds.
create table upload_pieces (
  upload_id uuid not null references uploads on delete cascade,
  -- One try to send the archive; a client may try again, or twice at once.
  transfer_id uuid not null,
  -- From 0; joined in this order they are the archive.
  number integer not null,
  stored_at timestamptz not null default now(),
  bytes bytea not null,
  primary key (upload_id, transfer_id, number)
);
-- Archives are compressed already.
alter table upload_pieces alter column bytes set storage external;

alter table uploads
  -- The transfer whose pieces are the archive. All others have failed, or go on.
  add column transfer_id uuid,
  add check (stored_at is not null or transfer_id is null);
