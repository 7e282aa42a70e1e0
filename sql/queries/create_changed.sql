create temporary table changed (like {chunks}) on commit drop;
alter table changed alter column search_vector drop not null;
alter table changed drop column number, drop column facet, add column identifiers text[] not null;
