-- A membership that groups of the OIDC provider gave (SUPERSTEP_OIDC_GROUPS): they change and end it at each sign-in. One of an invitation, or
-- whose role an admin has set, stays as it is.
alter table members add column is_by_group boolean not null default false;
